"""The scenarios of a drill: what the sandbox's services do, and which role dies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A drill to start: its `name` in urls, what happens, and what the operator has to find out and do.

    `faults` are those of each service, and `kills` is a role, all of whose processes are killed.
    """

    name: str
    title: str
    does: str
    task: str
    faults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kills: str = ""


SCENARIOS = (
    Scenario(
        name="carrier-down",
        title="The carrier is down",
        does="No call of the carrier is answered, until you end the drill.",
        task="Say what waits, what the system does by itself, and whom you would call. Resubmit nothing.",
        faults={"carrier": {"down": True}},
    ),
    Scenario(
        name="refused-payments",
        title="Payments are refused",
        does="The payment service refuses every call, for good.",
        task="Find the orders by their cause, end the drill, and resubmit all of them as one bulk action.",
        faults={"payments": {"refuse_rate": 1.0}},
    ),
    Scenario(
        name="slow-warehouse",
        title="The warehouse hangs and loses answers",
        does="Half of the warehouse’s calls hang, and a fifth is done without an answer.",
        task="Show for one order that its stock was reserved once, although it was called several times.",
        faults={"warehouse": {"hang_rate": 0.5, "lost_reply_rate": 0.2}},
    ),
    Scenario(
        name="dead-agents",
        title="The agent hosts die",
        does="Every process that calls the services is killed, as kill -9 does. Each is started again at once.",
        task="Find on Processes that they have started again, and on one order that another host has taken it over.",
        kills="agents",
    ),
    Scenario(
        name="bad-orders",
        title="Bad orders",
        does="The warehouse refuses every order, as if its articles did not exist.",
        task="Cancel one order and see what its customer is told. Edit another one, end the drill, and resubmit it.",
        faults={"warehouse": {"refuse_rate": 1.0}},
    ),
)


def find(name: str) -> Scenario | None:
    """The scenario of this name; None if there is none."""
    return next((scenario for scenario in SCENARIOS if scenario.name == name), None)
