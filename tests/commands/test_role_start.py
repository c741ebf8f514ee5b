"""A signal that comes while a role checks the database stops the role."""

import os
import signal
from collections.abc import Iterator

import pytest

from orders.management import role_command
from sasweb import database


@pytest.fixture
def handler() -> Iterator[signal.Handlers]:
    """The default handler of SIGTERM, put back afterwards."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield signal.SIG_DFL
    signal.signal(signal.SIGTERM, before)


@pytest.mark.django_db
def test_a_signal_during_the_check_of_the_database_is_not_lost(
    handler: signal.Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check may take ten seconds, and the role would have gone on for ever."""

    def check(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(database, "check", check)
    assert not role_command.wait_for_database()
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.django_db
def test_after_the_check_a_signal_has_its_usual_effect_until_the_role_runs(handler: signal.Handlers) -> None:
    assert role_command.wait_for_database()
    assert signal.getsignal(signal.SIGTERM) is handler
