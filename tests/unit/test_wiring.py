"""What the wiring knows of the agents, and which settings it refuses."""

from dataclasses import replace

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from orders import wiring
from orders.agents.mail import Mail
from orders.engine.errors import WorkflowError


def test_steps_know_whether_their_agents_can_ask() -> None:
    (workflow,) = wiring.workflows().values()
    assert {step.name for step in workflow.steps if not step.can_be_asked} == {"send-confirmation"}
    assert wiring.agents().keys() == set(wiring.AGENTS)


@pytest.mark.pattern("F14")
def test_services_without_keys_are_used_if_they_can_be_asked(settings: Settings) -> None:
    settings.CONFIG = replace(django_settings.CONFIG, key_retention=0.0)
    (workflow,) = wiring.workflows().values()
    keyless = {step.agent for step in workflow.steps if not step.key_retention}
    assert keyless == {"warehouse", "payments", "carrier"}


def test_a_step_without_keys_whose_agent_cannot_ask_is_refused(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CONFIG = replace(django_settings.CONFIG, key_retention=0.0)
    monkeypatch.setattr(wiring, "INQUIRING", frozenset({"payments", "carrier", Mail.name}))
    with pytest.raises(WorkflowError, match="'reserve-stock' has key_retention=0, so its agent 'warehouse'"):
        wiring.workflows()


def test_a_step_of_an_unknown_agent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "AGENTS", ("warehouse",))
    with pytest.raises(WorkflowError, match="unknown agent 'payments'"):
        wiring.workflows()


@pytest.mark.pattern("F35")
def test_every_service_but_the_mail_server_can_be_reconciled() -> None:
    listing = {name for name, agent in wiring.agents().items() if hasattr(agent, "list_effects")}
    assert listing == wiring.INQUIRING == {"warehouse", "payments", "carrier"}
