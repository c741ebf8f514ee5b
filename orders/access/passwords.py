"""The rule that no password may be easy to guess, for every form and command that sets one."""

import re
import threading
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from zxcvbn import zxcvbn

LEAST_SCORE = 3
"""Of zxcvbn's 0 to 4: it takes at least a hundred million guesses, made by somebody who knows how people choose."""
ESTIMATED = 32
"""The first characters of a password that are looked at. What they take to guess, the whole takes at least; and a long
text made for the purpose takes seconds."""
OUR_WORDS = ("print shop", "printshop", "print", "shop", "sasweb")

_LOCK = threading.Lock()
"""zxcvbn keeps the words about the account in a global."""


class NotEasyToGuessValidator:
    """Refuses what a guesser tries early: the most common passwords, words with digits, repeats, sequences, rows of
    keys, dates, and what is known of the account."""

    def __init__(self) -> None:
        self._common = CommonPasswordValidator().passwords
        """The 20,000 most common, of all languages, which come with Django."""

    def validate(self, password: str, user: Any = None) -> None:
        """Raises `ValidationError`."""
        if password.lower().strip() in self._common or self._score(password, user) < LEAST_SCORE:
            raise ValidationError(
                _(
                    "This password is easy to guess. Choose a few words that only you would put together, or have a"
                    " password manager choose one."
                ),
                code="password_easy_to_guess",
            )

    def _score(self, password: str, user: Any) -> int:
        with _LOCK:
            return int(zxcvbn(password[:ESTIMATED], user_inputs=[*OUR_WORDS, *_words_about(user)])["score"])

    def get_help_text(self) -> str:
        return _(
            "Your password must not be easy to guess. A few words that only you would put together work best."
        )


def _words_about(user: Any) -> Iterable[str]:
    for name in ("username", "email", "first_name", "last_name"):
        value = str(getattr(user, name, ""))[:200]
        yield from (word for word in (value, *re.split(r"[\W_]+", value)) if word)
