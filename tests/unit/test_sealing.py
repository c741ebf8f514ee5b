"""What is sealed can be opened with its key, for its purpose, and unchanged; or not at all."""

from typing import Any

import pytest

from sasweb.sealing import BrokenSealError, seal, unseal

SECRET = bytes(range(20))
OTHER_KEY = "another key, of 32 characters or more"


def test_a_sealed_secret_can_be_opened_and_does_not_show() -> None:
    sealed = seal(SECRET, purpose="a")
    assert unseal(sealed, purpose="a") == SECRET
    assert SECRET.hex() not in sealed
    assert sealed != seal(SECRET, purpose="a"), "equal secrets must not look equal"


def test_a_seal_fits_the_column_of_a_second_factor() -> None:
    assert len(seal(SECRET, purpose="a")) <= 80


def test_it_opens_for_its_purpose_alone() -> None:
    with pytest.raises(BrokenSealError):
        unseal(seal(SECRET, purpose="a"), purpose="b")


@pytest.mark.parametrize("place", [8, 30, -3])
def test_a_changed_seal_is_noticed(place: int) -> None:
    letters = list(seal(SECRET, purpose="a"))
    letters[place] = "A" if letters[place] != "A" else "B"
    with pytest.raises(BrokenSealError):
        unseal("".join(letters), purpose="a")


@pytest.mark.parametrize("text", ["", "sealed:", "sealed:AAAA", "sealed:*", "not base64"])
def test_what_was_never_sealed_is_refused(text: str) -> None:
    with pytest.raises(BrokenSealError):
        unseal(text, purpose="a")


def test_an_earlier_key_opens_what_it_sealed_while_it_is_listed(settings: Any) -> None:
    sealed = seal(SECRET, purpose="a")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = OTHER_KEY
    assert unseal(sealed, purpose="a") == SECRET
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(BrokenSealError, match="SECRET_KEY_FALLBACKS"):
        unseal(sealed, purpose="a")
