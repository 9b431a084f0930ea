"""Live runs: a server under test in namespaces of its own, the device before it, kernel settings, CPU placement.

Nothing here has a name on disk, no setting of the machine is changed, and all of it ends with the process that made it.
"""

from waspbench.testbed.apache import apache
from waspbench.testbed.capability import Support, live_support
from waspbench.testbed.commandline import command, from_lines
from waspbench.testbed.cpus import Placement, place
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.protocol import DOCUMENT_ROOT
from waspbench.testbed.servers import Launch, nginx
from waspbench.testbed.testbed import Testbed, TestbedSpec

__all__ = [
    "DOCUMENT_ROOT",
    "CannotDoIt",
    "Launch",
    "Placement",
    "Support",
    "Testbed",
    "TestbedError",
    "TestbedSpec",
    "apache",
    "command",
    "from_lines",
    "live_support",
    "nginx",
    "place",
]
