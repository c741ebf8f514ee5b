"""Hashing passwords takes neither the memory nor the processors nor the database connections that others need."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from orders.access import limited_requests, password_hashing, sign_up_links
from orders.access.password_hashing import HashingBusyError, HashingThread, PasswordHasher
from orders.access.sign_up_links import SignUp
from sasweb import settings as product_settings
from sasweb.refusals import BUSY
from tests.architecture.source import ROOT
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD
from tests.support.wait import until

T = TypeVar("T")

NEW_PASSWORD = "seven slow herons by the weir"
OWASP = "argon2$argon2id$v=19$m=19456,t=2,p=1$"
SIGN_IN = "/account/sign-in/"


@pytest.fixture
def ada(transactional_db: None) -> User:
    return User.objects.create_user(EMAIL, EMAIL, PASSWORD)


@contextmanager
def busy(hashing: HashingThread) -> Iterator[None]:
    """Keeps the thread at work, beside which nobody else finds a place that has none to wait in."""
    begun, ends = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ends.wait(60)

    with ThreadPoolExecutor(max_workers=1) as other:
        other.submit(hashing.run, work)
        assert begun.wait(60)
        try:
            yield
        finally:
            ends.set()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> HashingThread:
    """A thread beside which nobody may wait."""
    hashing = HashingThread(waiting=0, patience=5.0)
    monkeypatch.setattr(password_hashing, "HASHING", hashing)
    return hashing


class NotingThread(HashingThread):
    """Notes whether a connection and a transaction are open when somebody comes to hash a password."""

    def __init__(self) -> None:
        super().__init__(waiting=8, patience=60.0)
        self.seen: list[tuple[bool, bool]] = []

    def run(self, work: Callable[[], T]) -> T:
        self.seen.append((connection.connection is not None, connection.in_atomic_block))
        return super().run(work)


@pytest.fixture
def noting(ada: User, monkeypatch: pytest.MonkeyPatch) -> NotingThread:
    hashing = NotingThread()
    monkeypatch.setattr(password_hashing, "HASHING", hashing)
    return hashing


def sign_in(client: Client, password: str = PASSWORD) -> Any:
    return client.post(SIGN_IN, {"username": EMAIL, "password": password})


def test_a_password_is_hashed_as_owasp_recommends() -> None:
    assert product_settings.PASSWORD_HASHERS == ["orders.access.password_hashing.PasswordHasher"]
    assert PasswordHasher().encode(PASSWORD, "saltsaltsalt").startswith(OWASP)


def test_an_older_hash_is_replaced_when_its_owner_signs_in(ada: User, client: Client, settings: Any) -> None:
    settings.PASSWORD_HASHERS = product_settings.PASSWORD_HASHERS
    ada.password = Argon2PasswordHasher().encode(PASSWORD, "saltsaltsaltsaltsaltsalt")
    ada.save()
    assert sign_in(client).status_code == 302
    ada.refresh_from_db()
    assert ada.password.startswith(OWASP)
    assert sign_in(Client()).status_code == 302


def test_nobody_waits_for_a_hash_with_a_connection_or_in_a_transaction(
    noting: NotingThread, client: Client
) -> None:
    assert sign_in(client, "wrong").status_code == 200
    assert client.post(SIGN_IN, {"username": "nobody@example.com", "password": "wrong"}).status_code == 200
    assert sign_in(client).status_code == 302
    passwords = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    changed = client.post("/account/password/", {"old_password": PASSWORD, **passwords})
    assert changed.status_code == 302
    token = sign_up_links.make_token(SignUp(email="new@example.com", next_path=""))
    assert Client().post(f"/account/sign-up/{token}/", passwords).status_code == 302
    assert User.objects.get(email="new@example.com").check_password(NEW_PASSWORD)
    assert len(noting.seen) >= 6
    assert set(noting.seen) == {(False, False)}


def test_a_flood_of_sign_ins_is_refused_while_everybody_else_is_served(
    ada: User, client: Client, narrow: HashingThread
) -> None:
    with busy(narrow):
        refused = sign_in(client)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert "Your password hasn’t been checked yet" in refused.content.decode()
        assert client.get("/").status_code == 200
        assert client.get(SIGN_IN).status_code == 200
    assert not AccessAttempt.objects.exists()  # nothing was guessed
    assert sign_in(client).status_code == 302


def test_a_password_that_has_waited_too_long_for_its_turn_is_not_checked(ada: User, client: Client) -> None:
    form = {"username": EMAIL, "password": PASSWORD}
    refused = client.post(SIGN_IN, form, **{"asgi.scope": {BUSY: True}})  # type: ignore[arg-type]
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert "Your password hasn’t been checked yet" in refused.content.decode()
    assert sign_in(client).status_code == 302


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        *[("POST", path, True) for path in (SIGN_IN, "/console/sign-in/", "/admin/login/")],
        *[("POST", path, True) for path in ("/account/password/", "/account/sign-up/token/")],
        *[("GET", SIGN_IN, False), ("POST", "/cart/add/", False), ("POST", "/no/such/page/", False)],
    ],
)
def test_requests_with_a_password_are_recognised(method: str, path: str, expected: bool) -> None:
    assert limited_requests.checks_password(method, path) is expected


def test_one_thread_hashes_few_wait_for_it_and_the_rest_are_refused_at_once() -> None:
    hashing = HashingThread(waiting=2, patience=60.0)
    with ThreadPoolExecutor(max_workers=3) as others:
        with busy(hashing):
            futures = [others.submit(hashing.run, threading.get_ident) for _ in range(3)]
            until(lambda: any(future.done() for future in futures), what="a refusal")
            (refused,) = [future for future in futures if future.done()]
            assert isinstance(refused.exception(), HashingBusyError)
        assert len({future.result(60) for future in futures if future is not refused}) == 1


def test_nobody_waits_longer_than_the_patience_and_whoever_gave_up_is_not_hashed() -> None:
    hashing = HashingThread(waiting=1, patience=0.0)
    hashed: list[str] = []
    with busy(hashing), pytest.raises(HashingBusyError):
        hashing.run(lambda: hashed.append("too late"))
    hashing._thread.shutdown()  # whatever is still to be hashed has been
    assert hashed == []


def test_a_fork_hashes_in_a_thread_of_its_own() -> None:
    """A thread that has not survived the fork would be waited for in vain."""
    code = (
        "import os; from orders.access.password_hashing import HASHING; HASHING.run(int);"
        "child = os.fork(); done = HASHING.run(int); child or os._exit(done);"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "sasweb.settings"}
    done = subprocess.run(
        # From Python 3.12 on, a fork of a process with threads is warned of.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
