"""Live runs: a server under test in namespaces of its own, the device before it, kernel settings, CPU placement.

Or a server that runs already on this machine, with a device before it (`host`). Nothing of either has a name on disk,
and all of it ends with the process that made it. The one setting of the machine that is changed, and how it is given
back: `backlog`.
"""

from waspbench.testbed.affinity import aside
from waspbench.testbed.apache import apache
from waspbench.testbed.backlog import long_backlog
from waspbench.testbed.capability import Support, host_support, live_support
from waspbench.testbed.commandline import command, from_lines
from waspbench.testbed.cpus import Placement, place
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.host import HostSpec, HostTestbed, is_local
from waspbench.testbed.presence import Presence
from waspbench.testbed.program import Program, ProgramSpec
from waspbench.testbed.protocol import DOCUMENT_ROOT
from waspbench.testbed.servers import Launch, check_room, nginx
from waspbench.testbed.testbed import Testbed, TestbedSpec

Spec = TestbedSpec | HostSpec
"""What a live run stands on: a server of its own, or one that runs already."""

Bed = Testbed | HostTestbed
"""The same while it lasts."""

__all__ = [
    "DOCUMENT_ROOT",
    "Bed",
    "CannotDoIt",
    "HostSpec",
    "HostTestbed",
    "Launch",
    "Placement",
    "Presence",
    "Program",
    "ProgramSpec",
    "Spec",
    "Support",
    "Testbed",
    "TestbedError",
    "TestbedSpec",
    "apache",
    "aside",
    "check_room",
    "command",
    "from_lines",
    "host_support",
    "is_local",
    "live_support",
    "long_backlog",
    "nginx",
    "place",
]
