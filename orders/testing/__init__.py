"""For the tests of one's own business, which need pytest; no part of the product imports it.

`AgentContract` proves an agent, and `StandIn` misbehaves for it. `run_to_end` runs an order to its end, with faults on
the way. The folder of such tests has a `conftest.py` with one line, which makes the test database fit for the roles:

    pytest_plugins = ["orders.testing.plugin"]
"""

from orders.testing.contract import AgentContract
from orders.testing.ending import EndedOrder, EndedStep, run_to_end
from orders.testing.failing import Faults, LostAnswer
from orders.testing.stand_in import StandIn

__all__ = ["AgentContract", "EndedOrder", "EndedStep", "Faults", "LostAnswer", "StandIn", "run_to_end"]
