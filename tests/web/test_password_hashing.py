"""Hashing passwords takes neither the memory nor the processors nor the database connections that others need."""

import threading
from contextlib import AbstractContextManager
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from orders.access import password_hashing, sign_up_links
from orders.access.password_hashing import HashingBusyError, PasswordHasher, Turns
from orders.access.sign_up_links import SignUp
from sasweb import settings as product_settings
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD
from tests.support.wait import until

NEW_PASSWORD = "seven slow herons by the weir"
OWASP = "argon2$argon2id$v=19$m=19456,t=2,p=1$"
SIGN_IN = "/account/sign-in/"


@pytest.fixture
def ada(transactional_db: None) -> User:
    return User.objects.create_user(EMAIL, EMAIL, PASSWORD)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Turns of which every place can be taken."""
    turns = Turns(at_once=1, waiting=0, patience=5.0)
    monkeypatch.setattr(password_hashing, "TURNS", turns)
    return turns


class NotingTurns(Turns):
    """Notes whether a connection and a transaction are open when somebody comes to hash a password."""

    def __init__(self) -> None:
        super().__init__(at_once=1, waiting=8, patience=60.0)
        self.seen: list[tuple[bool, bool]] = []

    def take(self) -> AbstractContextManager[None]:
        self.seen.append((connection.connection is not None, connection.in_atomic_block))
        return super().take()


@pytest.fixture
def noting(ada: User, monkeypatch: pytest.MonkeyPatch) -> NotingTurns:
    turns = NotingTurns()
    monkeypatch.setattr(password_hashing, "TURNS", turns)
    return turns


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
    noting: NotingTurns, client: Client
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
    ada: User, client: Client, taken: Turns
) -> None:
    with taken.take():
        refused = sign_in(client)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert "Your password has not been checked yet" in refused.content.decode()
        assert client.get("/").status_code == 200
        assert client.get(SIGN_IN).status_code == 200
    assert not AccessAttempt.objects.exists()  # nothing was guessed
    assert sign_in(client).status_code == 302


def test_few_hash_at_once_few_wait_and_the_rest_are_refused_at_once() -> None:
    turns, inside, waits = Turns(at_once=2, waiting=1, patience=60.0), threading.Barrier(3), threading.Event()
    results: list[str] = []

    def hash_one() -> None:
        with turns.take():
            if not waits.is_set():
                inside.wait(60)
                waits.wait(60)
        results.append("hashed")

    threads = [threading.Thread(target=hash_one, daemon=True) for _ in range(3)]
    for thread in threads[:2]:
        thread.start()
    inside.wait(60)  # two are inside
    threads[2].start()

    def is_refused() -> bool:
        try:
            with turns.take():
                raise AssertionError("a third one was let in")
        except HashingBusyError:
            return True

    until(lambda: turns.places_left == 0, what="the one that waits")
    assert is_refused()
    assert results == []
    waits.set()
    for thread in threads:
        thread.join(60)
    assert results == ["hashed"] * 3


def test_nobody_waits_longer_than_the_patience() -> None:
    turns = Turns(at_once=1, waiting=1, patience=0.0)
    with turns.take(), pytest.raises(HashingBusyError), turns.take():
        raise AssertionError("let in beside the first")
