"""A workflow that has nothing to do with the shop. The engine's tests use it, since the engine knows no business.

mix ───────┐               ┌─▶ decorate ─┐
           ├─▶ bake ───────┤             ├─▶ deliver ─▶ tell
heat-oven ─┘               └─▶ box ──────┘
"""

from orders.engine.contracts import (
    Compensation,
    Decision,
    Delay,
    Json,
    OutsideEvent,
    Remedy,
    Step,
    Wait,
    Workflow,
)


def _portion(description: Json) -> Json:
    return {"portions": description.get("portions", 1)}


def _step(name: str, agent: str, **declared: object) -> Step:
    return Step(name=name, agent=agent, operation=f"{name}-it", data=_portion, **declared)  # type: ignore[arg-type]


CAKE = Workflow(
    name="bake-cake",
    version=3,
    complete_by=600.0,
    steps=(
        _step("mix", "kitchen", customer_wait=60.0),
        _step("heat-oven", "oven", compensation=Compensation.NONE),
        _step("bake", "oven", after=("mix", "heat-oven"), needs=("mix",)),
        _step("decorate", "kitchen", after=("bake",), remedy=Remedy(extended_waits=2, wait=120.0)),
        _step("box", "kitchen", after=("bake",), remedy=Remedy(then="compensate")),
        _step("deliver", "courier", after=("decorate", "box"), needs=("bake", "box")),
        _step("tell", "post", after=("deliver",), compensation=Compensation.NOTICE),
    ),
)
CAKES = {(CAKE.name, CAKE.version): CAKE}


def _wait(name: str, waits_for: Wait, **declared: object) -> Step:
    return Step(name=name, waits_for=waits_for, compensation=Compensation.NONE, **declared)  # type: ignore[arg-type]


FEAST = Workflow(
    name="cook-feast",
    version=1,
    complete_by=600.0,
    steps=(
        _step("plan", "kitchen"),
        _wait("approve", Decision(within=3_600.0), after=("plan",)),
        _wait("supplies", OutsideEvent(within=600.0, default={"came": False}), after=("plan",)),
        _wait("rest", Delay(seconds=60.0), after=("plan",)),
        _step("cook", "oven", after=("approve", "supplies", "rest"), needs=("approve", "supplies")),
    ),
)
"""plan ─▶ approve (a person), supplies (an outside event), rest (a time) ─▶ cook"""
FEASTS = {(FEAST.name, FEAST.version): FEAST}

PARTY = Workflow(
    name="give-party",
    version=1,
    complete_by=600.0,
    steps=(
        _step("invite", "post"),
        _step(
            "music", "band", after=("invite",), when=lambda order, results: results["invite"]["guests"] > 10
        ),
        Step(
            name="dish",
            agent="kitchen",
            operation="cook-it",
            each=lambda order, results: [{"dish": dish} for dish in order["dishes"]],
            after=("invite",),
            needs=("invite",),
        ),
        _step("serve", "courier", after=("music", "dish"), needs=("music", "dish")),
    ),
)
"""invite ─▶ music (for more than ten guests), dish (each of several) ─▶ serve"""
PARTIES = {(PARTY.name, PARTY.version): PARTY}

BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
PACKED = {**BAKED, "decorate": "completed", "box": "completed"}
"""Stages of a cake, as the states of its steps."""
