"""What simulated TCP is held to: formulas of the literature, the findings of the papers, and Linux.

Each module measures one subject and returns `Table` objects; `page` writes them down. `wasp validate` runs them.
"""

from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.tcp import validate_tcp

__all__ = ["Bar", "Row", "Table", "validate_tcp"]
