"""How a role starts: what it imports, and that a signal which comes while it checks the database stops it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orders.engine.runtime.sql import run
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


@pytest.mark.pattern("F21")
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_dies_in_the_check_is_replaced(
    handler: signal.Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role would have asked the dead connection for ever, and never run."""
    tries: list[None] = []

    def epoch() -> None:
        tries.append(None)
        if len(tries) == 1:
            run("SELECT pg_terminate_backend(pg_backend_pid())")
        assert len(tries) < 9, "the check goes on and on"
        run("SELECT 1")

    monkeypatch.setattr(role_command, "epoch", epoch)
    assert role_command.wait_for_database()
    assert len(tries) == 2


@pytest.mark.parametrize("role", ["scheduler", "submission"])
def test_a_role_that_calls_nobody_does_not_import_what_calls_need(role: str) -> None:
    """All agents are imported, so that a wrong setting stops every role, but not the client of HTTP beneath them."""
    code = f"""if True:
        import sys, django
        django.setup()
        import orders.management.commands.run_{role}
        print("orders.agents.transport" in sys.modules, "aiohttp" in sys.modules)
    """
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "True False\n"
