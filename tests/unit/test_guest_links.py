"""A guest's link is for one order, and nobody can forge one."""

from uuid import uuid4

import pytest
from django.core import signing

from orders.access.guest_links import make_token, read_token


def test_a_token_yields_the_order_it_was_made_for() -> None:
    order_id = uuid4()
    assert read_token(make_token(order_id)) == order_id


@pytest.mark.parametrize("made_up", ["", ".", "a.b", "94652cdbb067430abb0ce47b8b3d0214", "\x00", "ä.ö"])
def test_a_token_that_we_did_not_sign_is_refused(made_up: str) -> None:
    assert read_token(made_up) is None


def test_the_signature_of_one_order_does_not_open_another() -> None:
    signature = make_token(uuid4()).split(".")[1]
    assert read_token(f"{uuid4().hex}.{signature}") is None


def test_a_signature_for_another_purpose_opens_nothing() -> None:
    assert read_token(signing.Signer(sep=".").sign(uuid4().hex)) is None
