"""A guest's link is for one order, and nobody can forge one."""

import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core import signing

from orders.access.guest_links import SALT, VALID_FOR, make_token, read_old_token, read_token, today


def test_a_token_yields_the_order_it_was_made_for() -> None:
    order_id = uuid4()
    assert read_token(make_token(order_id)) == order_id


@pytest.mark.parametrize("made_up", ["", ".", "a.b", "94652cdbb067430abb0ce47b8b3d0214", "\x00", "ä.ö"])
def test_a_token_that_we_did_not_sign_is_refused(made_up: str) -> None:
    assert read_token(made_up) is None


def test_the_signature_of_one_order_does_not_open_another() -> None:
    signature = make_token(uuid4()).partition(".")[2]
    assert read_token(f"{uuid4().hex}.{signature}") is None
    assert read_old_token(f"{uuid4().hex}.{signature}") is None


def test_a_signature_for_another_purpose_opens_nothing() -> None:
    assert read_token(signing.Signer(sep=".").sign(uuid4().hex)) is None


@pytest.mark.parametrize(("past", "is_open"), [(-60, True), (60, False)])
def test_a_token_opens_its_order_for_90_days(
    monkeypatch: pytest.MonkeyPatch, past: float, is_open: bool
) -> None:
    order_id, made_at = uuid4(), time.time() - VALID_FOR.total_seconds() - past
    with monkeypatch.context() as then:
        then.setattr(signing.time, "time", lambda: made_at)
        token = make_token(order_id)
    assert read_token(token) == (order_id if is_open else None)
    assert read_old_token(token) == (None if is_open else order_id)


def test_two_tokens_of_one_day_are_alike() -> None:
    order_id, day = uuid4(), today()
    token = make_token(order_id, signed_at=day)
    assert (
        token
        == make_token(order_id, signed_at=day)
        != make_token(order_id, signed_at=day - timedelta(days=1))
    )
    assert read_token(token) == order_id
    old = make_token(order_id, signed_at=day - VALID_FOR - timedelta(seconds=1))
    assert (read_token(old), read_old_token(old)) == (None, order_id)


def test_a_token_without_an_age_is_old() -> None:
    order_id = uuid4()
    token = signing.Signer(sep=".", salt=SALT).sign(order_id.hex)
    assert (read_token(token), read_old_token(token)) == (None, order_id)


def test_a_token_outlives_the_key_that_signed_it(settings: Any) -> None:
    order_id = uuid4()
    token = make_token(order_id)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, of 32 characters or more"
    assert read_token(token) == order_id
    settings.SECRET_KEY_FALLBACKS = []
    assert (read_token(token), read_old_token(token)) == (None, None)
