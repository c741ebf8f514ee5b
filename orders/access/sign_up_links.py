"""The signed token with which the owner of an email address finishes signing up."""

from typing import NamedTuple

from django.core import signing

SALT = "account.sign-up"
MAX_AGE = 24 * 3600
"""Seconds for which a token is valid."""


class SignUp(NamedTuple):
    """An email address whose owner wants an account, and the path to continue to once she has it; empty for none."""

    email: str
    next_path: str


def make_token(sign_up: SignUp) -> str:
    """A token that only the owner of the email address gets."""
    content = {"email": sign_up.email, "next": sign_up.next_path}
    return signing.dumps(content, salt=SALT, compress=True)


def read_token(token: str) -> SignUp | None:
    """The sign-up that a token is for; None if the token is not ours or is too old."""
    try:
        content = signing.loads(token, salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return None
    return SignUp(email=content["email"], next_path=content["next"])
