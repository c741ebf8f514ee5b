"""How easy a password is to guess is estimated briefly, whatever it is, and by many threads at once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from orders.access.passwords import NotEasyToGuessValidator

LEET = "4@8({[<369!1|0$5+7%2"


def is_refused(password: str, user: User | None = None) -> bool:
    try:
        NotEasyToGuessValidator().validate(password, user)
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("password", [LEET * 10_000, "a" * 1_000_000, "password" * 1_000, "\x00" * 5_000])
def test_a_long_text_costs_no_more_than_its_beginning(password: str) -> None:
    began = time.thread_time()
    is_refused(password)
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    "password", ["1q2w3e4r5t6y7u8i9o", "ichliebedich", " IchLiebeDich ", "seniseviyorum"]
)
def test_what_is_common_in_another_language_is_refused(password: str) -> None:
    """The estimate, which knows English best, takes these for hard."""
    assert is_refused(password)
    assert not is_refused("four grey geese at dusk")


def test_each_thread_knows_the_words_of_its_own_account() -> None:
    users = [User(username=f"{name}@shop.example") for name in ("zebulonqxj", "quintaliavw")]

    def check(number: int) -> tuple[bool, bool]:
        own, other = users[number % 2], users[1 - number % 2]
        name = own.username.partition("@")[0]
        return is_refused(f"{name}19", own), is_refused(f"{name}19", other)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(check, range(80))) == {(True, False)}
