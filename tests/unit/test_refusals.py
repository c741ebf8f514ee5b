"""A refusal for an IP address is repeated for a moment, to that address and for that page alone."""

from typing import Any

from sasweb.refusals import MOST, REFUSED, REPEATED_FOR, Refusals

ANSWER = [{"type": "http.response.start", "status": 429}, {"type": "http.response.body", "body": b"no"}]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def scope(path: str = "/account/sign-in/", *, host: str = "203.0.113.1", **more: Any) -> dict[str, Any]:
    return {"method": "POST", "path": path, "query_string": b"", "client": (host, 1234), **more}


def test_a_refusal_is_repeated_for_a_moment() -> None:
    clock = Clock()
    refusals = Refusals(clock=clock)
    refusals.note(scope(**{REFUSED: True}), ANSWER)
    assert refusals.find(scope()) == ANSWER
    clock.now += REPEATED_FOR
    assert refusals.find(scope()) == ()


def test_others_and_other_pages_are_not_refused() -> None:
    refusals = Refusals()
    refusals.note(scope(**{REFUSED: True}), ANSWER)
    others = [
        scope(host="203.0.113.2"),
        scope("/"),
        {**scope(), "method": "GET"},
        {**scope(), "query_string": b"q=a"},
    ]
    assert [refusals.find(other) for other in others] == [()] * 4


def test_only_refusals_for_an_address_are_kept() -> None:
    refusals = Refusals()
    refusals.note(scope(), ANSWER)
    assert refusals.find(scope()) == ()


def test_no_more_are_kept_than_there_is_room_for() -> None:
    refusals = Refusals()
    for number in range(MOST + 1):
        refusals.note(scope(host=f"10.0.{number // 256}.{number % 256}", **{REFUSED: True}), ANSWER)
    assert refusals.find(scope(host="10.0.0.0")) == ()
    assert refusals.find(scope(host="10.0.0.1")) == ANSWER
