"""For the tests of one's own business: `AgentContract` proves an agent, and `StandIn` misbehaves for it.

It needs pytest, and no part of the product imports it.
"""

from orders.testing.contract import AgentContract
from orders.testing.stand_in import StandIn

__all__ = ["AgentContract", "StandIn"]
