"""What is found in the packages of the businesses, and which declarations stop the start (docs/adr/0037)."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from pytest_django import Settings

from orders import wiring
from orders.business import Attribute, ClientLink, Environment, Move, OrderKind, Step, Workflow, registry
from orders.business.intake import OrderIntake, kind_of
from orders.engine.errors import WorkflowError
from orders.shop.workflows import FulfilOrder
from sasweb.environment import ConfigError
from tests.support.businesses import Bakery, Oven, business
from tests.support.versions import HANDS, IcedCake

KEYLESS = replace(Bakery.step, key_retention=0.0)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Each test finds the businesses anew, and leaves no trace."""
    yield
    registry.forget()


def test_the_shop_is_the_only_business_by_default() -> None:
    assert registry.kinds() == (FulfilOrder,)
    assert [*registry.agent_names()] == ["warehouse", "payments", "carrier", "mail"]
    assert registry.make_agents().keys() == set(registry.agent_names())


def test_steps_know_whether_their_agents_can_ask() -> None:
    workflow = registry.newest_workflows()["fulfil-order"]
    assert {step.name for step in workflow.steps if not step.can_be_asked} == {"send-confirmation"}


def test_several_businesses_stand_side_by_side(settings: Settings) -> None:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        assert registry.kinds() == (FulfilOrder, Bakery)
        assert registry.default_kind() is FulfilOrder
        assert registry.newest_workflows().keys() == {"fulfil-order", "bake"}
        assert "oven" in registry.agent_names()


def test_new_orders_take_the_newest_version_of_their_own_workflow(settings: Settings) -> None:
    class Versioned(Bakery):
        @classmethod
        def versions(cls, environment: Environment) -> list[Workflow]:
            return [Workflow(name="bake", version=version, steps=(cls.step,)) for version in (1, 3)]

    with business(settings, kinds=[Versioned], agents=[Oven()]):
        newest = registry.newest_workflows()
        assert {name: workflow.version for name, workflow in newest.items()} == {"fulfil-order": 1, "bake": 3}
        assert {("bake", 1), ("bake", 3)} < registry.workflows().keys()


@pytest.mark.pattern("F14")
def test_services_without_keys_are_used_if_they_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.forget()
    monkeypatch.setenv("KEY_RETENTION", "0")
    keyless = {
        step.agent for step in registry.newest_workflows()["fulfil-order"].steps if not step.key_retention
    }
    assert keyless == {"warehouse", "payments", "carrier"}


def test_no_order_is_deleted_while_remote_services_recognise_its_keys(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*, finished: float, archived: float) -> None:
        registry.forget()
        settings.CONFIG = replace(settings.CONFIG, keep_finished=finished, keep_archived=archived)
        registry.check()

    check(finished=1, archived=0)  # nothing is deleted
    check(finished=1, archived=6)
    check(finished=90, archived=1)
    with pytest.raises(
        ConfigError, match=r"^KEEP_ARCHIVED='5.5' is not valid; expected 0, or at least 6: .* for the 7 days "
    ):
        check(finished=1, archived=5.5)
    monkeypatch.setenv("KEY_RETENTION", str(30 * 86_400))
    with pytest.raises(ConfigError, match=r"at least 29: .* for the 30 days "):
        check(finished=1, archived=6)
    check(finished=1, archived=29)


def a_bakery(*steps: Step, name: str = "bake", version: int = 1) -> type[OrderKind]:
    class Wrong(Bakery):
        @classmethod
        def versions(cls, environment: Environment) -> list[Workflow]:
            return [Workflow(name=name, version=version, steps=steps or (cls.step,))]

    return Wrong


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"kinds": [a_bakery(KEYLESS)], "agents": [Oven()]},
            "step 'mix' has key_retention=0, so its agent 'oven'",
        ),
        ({"kinds": [Bakery], "agents": []}, "bake v1: unknown agent 'oven'"),
        ({"kinds": [Bakery], "agents": [Oven(), Oven()]}, "there is an agent 'oven' already"),
        ({"kinds": [a_bakery(name="brew")], "agents": [Oven()]}, "bake: every version must have this name"),
        (
            {
                "kinds": [type("Odd", (Bakery,), {"attributes": (Attribute(name="Icing", label="I"),)})],
                "agents": [],
            },
            "bake: the attribute 'Icing' must have a name of small letters",
        ),
        *(
            (
                {"kinds": [type("Odd", (Bakery,), {"client_links": {"icing": link}})], "agents": []},
                "bake: the link 'icing' must name fields that the kind has, and at least one",
            )
            for link in (ClientLink(url="icing", fields=()), ClientLink(url="icing", fields=("icing",)))
        ),
        ({"kinds": [FulfilOrder], "agents": []}, "there is a kind of order 'fulfil-order' already"),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_line(
    settings: Settings, declared: dict[str, Any], message: str
) -> None:
    with business(settings, **declared), pytest.raises(WorkflowError, match=message) as refused:
        registry.check()
    assert "\n" not in str(refused.value)


def test_an_invalid_setting_of_an_agent_is_refused_in_one_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVEN_URL", "oven.example")
    with (
        business(settings, kinds=[Bakery], agents=lambda env: [Oven(env.url("OVEN_URL"))]),
        pytest.raises(
            ConfigError, match=r"^OVEN_URL='oven.example' is not valid; expected a URL that starts"
        ),
    ):
        registry.check()


def test_the_workflow_of_orders_that_name_none_is_a_setting(settings: Settings) -> None:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        settings.DEFAULT_WORKFLOW = "bake"
        assert registry.default_kind() is Bakery
        assert OrderIntake().unnamed == "bake"
        assert kind_of({"cake": "walnut"}) is Bakery
        assert kind_of({"workflow": "fulfil-order"}) is FulfilOrder


def test_a_default_workflow_that_there_is_not_is_refused_in_one_line(settings: Settings) -> None:
    settings.DEFAULT_WORKFLOW = "bake"
    registry.forget()
    with pytest.raises(ConfigError) as refused:
        registry.check()
    assert str(refused.value) == "DEFAULT_WORKFLOW='bake' is not valid; expected one of fulfil-order"


def test_versions_are_declared_in_the_order_in_which_they_were_made(settings: Settings) -> None:
    class Backwards(Bakery):
        @classmethod
        def versions(cls, environment: Environment) -> list[Workflow]:
            return [Workflow(name="bake", version=version, steps=(cls.step,)) for version in (2, 1)]

    with (
        business(settings, kinds=[Backwards], agents=[Oven()]),
        pytest.raises(WorkflowError, match=r"bake: the versions must be .* the newest last, not \[2, 1\]"),
    ):
        registry.check()


def test_a_move_that_no_order_could_make_stops_the_start(settings: Settings) -> None:
    class Wrong(IcedCake):
        moves = (Move(from_version=1, to_version=2),)

    message = "move from version 1 to 2 must say what becomes of taste, sign, candle: a new name, or None$"
    with (
        business(settings, kinds=[Wrong], agents=HANDS),
        pytest.raises(WorkflowError, match=f"^ice-cake: the {message}"),
    ):
        registry.check()


def test_a_package_without_an_order_kind_is_refused(settings: Settings) -> None:
    settings.BUSINESSES = ("tests.support.empty_business",)
    module = ModuleType("tests.support.empty_business.workflows")
    sys.modules[module.__name__] = module
    agents = ModuleType("tests.support.empty_business.agents")
    agents.agents = lambda environment: []  # type: ignore[attr-defined]
    sys.modules[agents.__name__] = agents
    registry.forget()
    with pytest.raises(
        WorkflowError, match=r"no kind of order is declared in the workflows of tests\.support\.empty"
    ):
        registry.check()


@pytest.mark.pattern("F35")
def test_every_service_but_the_mail_server_can_be_reconciled_and_asked() -> None:
    agents = registry.make_agents().items()
    listing = {name for name, agent in agents if hasattr(agent, "list_effects")}
    asking = {name for name, agent in agents if hasattr(agent, "inquire")}
    assert listing == asking == {"warehouse", "payments", "carrier"}


def test_an_agent_may_have_a_rate_of_its_own(settings: Settings) -> None:
    class SlowOven(Oven):
        rate = 2.5

    with business(settings, kinds=[Bakery], agents=[SlowOven()]):
        config = wiring.agent_host(["oven", "carrier"])._config
    assert (config.rates, config.rate) == ({"oven": 2.5}, None)


def test_a_kind_that_another_is_derived_from_is_only_its_beginning(settings: Settings) -> None:
    class Bread(Bakery):
        name = "bake-bread"

        @classmethod
        def versions(cls, environment: Environment) -> list[Workflow]:
            return [Workflow(name="bake-bread", version=1, steps=(cls.step,))]

    with business(settings, kinds=[Bakery, Bread], agents=[Oven()]):
        assert registry.kinds() == (FulfilOrder, Bread)
