"""Each rule that a submission must meet to become an order, without a database (S3)."""

import copy
import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.business import BadOrderError, Draft
from orders.business.intake import read_submission
from orders.business.own_words import OwnWords
from orders.business.submissions import read_client, read_common
from orders.engine.intakes import RejectedSubmission, Submission
from orders.shop.description import as_json, parse
from orders.shop.workflows import mismatch
from tests.support.order_bodies import PARIS, submitted_body

GOOD = submitted_body()


def check(body: object) -> str | None:
    """Why a submission can never become an order; None if it can."""
    answer = read_submission(submission(body))
    return answer.reason if isinstance(answer, RejectedSubmission) else None


def submission(body: Any, client: str = "user:7") -> Submission:
    return Submission(
        order_id=uuid.uuid4(), client=client, body=body, posted_at=datetime(2030, 1, 1, tzinfo=UTC)
    )


def changed(path: str, value: object) -> dict[str, Any]:
    """A valid body except for the value at `path`, such as `lines.0.quantity`."""
    body = copy.deepcopy(GOOD)
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    place: Any = body
    for name in parents:
        place = place[name]
    place[last] = value
    return body


def test_a_valid_order_is_read_completely() -> None:
    body = {**GOOD, "priority": 9, "reply_to": "app-1", "subject": "a gift", "reference": "g-7"}
    order = parse(body)
    assert (order.total, order.currency) == (12700, "EUR")
    assert [(line.sku, line.quantity, line.unit_price) for line in order.lines] == [
        ("tidal-lines", 2, 3900),
        ("first-sun", 1, 4900),
    ]
    placed_at = datetime(2030, 1, 1, 12, tzinfo=UTC)
    common = {
        **{"subject": "a gift", "priority": 9, "reply_to": "app-1", "placed_at": placed_at},
        "words": OwnWords(reference="g-7"),
        "tells_customer": False,
    }
    assert read_common(body) == common


def test_optional_fields_have_defaults() -> None:
    for body in (GOOD, {**GOOD, "priority": None, "reply_to": None}, {**GOOD, "reply_to": ""}):
        common = read_common(body)
        assert (common["priority"], common["reply_to"], common["subject"]) == (5, "", "")


def test_unknown_fields_are_left_out() -> None:
    body = {**GOOD, "gift_wrap": True, "ship_to": {**GOOD["ship_to"], "planet": "Earth"}}
    assert as_json(parse(body)) == as_json(parse(GOOD))


def test_the_description_has_every_field_that_the_steps_read() -> None:
    described = as_json(parse({**GOOD, "currency": "eur"}))
    assert described == {name: value for name, value in GOOD.items() if name != "placed_at"}
    assert json.loads(json.dumps(described)) == described


def test_a_gift_note_is_there_only_if_there_is_one() -> None:
    assert as_json(parse({**GOOD, "gift_note": "For Éva"}))["gift_note"] == "For Éva"
    assert "gift_note" not in as_json(parse({**GOOD, "gift_note": None}))


WRONG: list[tuple[str, list[object]]] = [
    ("lines", [None, {}, [], "x", 5, [GOOD["lines"][0]] * 101]),
    ("lines.0", [None, "x", [], 5]),
    ("lines.0.sku", [None, "", " ", 5, "x" * 41, "a\0b", "first-sun", ["x"]]),
    ("lines.0.title", [None, "", 5, "x" * 121, "a\nb", "a\u2028b", "\ud800"]),
    ("lines.0.quantity", [None, 0, -1, 1000, 1.0, 2.0, "2", True, 10**40]),
    ("lines.0.unit_price", [None, 0, -1, 3900.0, "3900", True, 2**31]),
    ("total", [None, 0, -12700, 12699, 12701, 12700.0, "12700", True, 10**5000, float("nan")]),
    ("currency", [None, "", "EU", "EURO", "E1R", "ÉUR", 978, ["EUR"]]),
    (
        "email",
        [
            None,
            "",
            "ada",
            "@",
            "ada@",
            "@example.org",
            "ada@example",
            "a b@example.org",
            "a..b@example.org",
            ".a@example.org",
            "ada@exa mple.org",
        ],
    ),
    (
        "email",
        ["ada@example.org\n", "a,b@example.org", "<a@example.org>", "ádá@example.org", "a" * 250 + "@b.org"],
    ),
    ("email", ["a..b@example.org", ".a@example.org", "a.@example.org", "a@-", "a@b..org", "a@b.org."]),
    ("payment_method", [None, "", " ", 5, "x" * 65, "a\0b", "a\nb"]),
    ("placed_at", [None, "", "today", 5, "2030-01-01T12:00:00", "2030-01-01", "0001-01-01T00:00:00Z"]),
    ("placed_at", ["9999-12-31T23:59:59-23:59", "2030-13-01T00:00:00Z"]),
    ("priority", [-1, 10, 5.0, "5", True]),
    ("reply_to", [5, "x" * 121, "a\0b", [], False]),
    ("gift_note", ["", " ", 5, "x" * 301, "a\0b", "a\nb", [], {}]),
    ("ship_to", [None, "x", [], {}]),
    *(
        (f"ship_to.{part}", [None, "", "  ", 5, "x" * 201, "a\0b", "a\nb", {}])
        for part in ("name", "street", "city", "postal_code", "country")
    ),
    *((f"ship_to.{part}", [5, "  ", "x" * 201, "a\0b", "a\nb"]) for part in ("line2", "state", "phone")),
    ("ship_to.country", ["F", "FRA", "F1", "ФР"]),
]


CASES = [
    pytest.param(path, value, id=f"{path}-{index}")
    for path, values in WRONG
    for index, value in enumerate(values)
]


@pytest.mark.pattern("S3")
@pytest.mark.parametrize(("path", "value"), CASES)
def test_an_invalid_field_is_refused(path: str, value: object) -> None:
    reason = check(changed(path, value))
    assert reason is not None
    assert reason.endswith(".") and reason.isprintable() and len(reason) < 250
    assert path.split(".")[0] in reason
    assert reason.isascii() or "…" in reason


@pytest.mark.parametrize("body", [None, [], "x", 5, True])
def test_a_body_that_is_not_an_object_is_refused(body: object) -> None:
    assert check(body) is not None


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_field_is_refused(name: str) -> None:
    assert check({key: value for key, value in GOOD.items() if key != name}) is not None


def test_the_largest_order_fits() -> None:
    lines = [
        {"sku": f"{n:040}", "title": "x" * 120, "quantity": 999, "unit_price": 2**31 - 1} for n in range(100)
    ]
    assert check({**GOOD, "lines": lines, "total": 100 * 999 * (2**31 - 1)}) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(path=st.sampled_from([path for path, _ in WRONG]), value=json_values)
def test_no_input_makes_the_check_itself_fail(path: str, value: object) -> None:
    reason = check(changed(path, value))
    assert reason is None or reason.isprintable()


@pytest.mark.parametrize(
    ("client", "customer"), [("guest", None), ("user:7", 7), ("user:2147483647", 2**31 - 1)]
)
def test_a_client_is_an_account_or_a_guest(client: str, customer: int | None) -> None:
    assert read_client(client) == customer


@pytest.mark.parametrize(
    "client", ["", "user", "user:", "user:-1", "user:x", "user:²", "user:2147483648", "app:1"]
)
def test_any_other_client_is_refused(client: str) -> None:
    with pytest.raises(BadOrderError):
        read_client(client)


def test_an_invalid_submission_is_rejected_with_the_reason() -> None:
    answer = read_submission(submission({}))
    assert isinstance(answer, RejectedSubmission)
    assert (
        answer.reason
        == "placed_at must be a time in ISO 8601 with its zone, from the year 2000 on, not nothing."
    )


@pytest.mark.parametrize(
    ("currencies", "reason"),
    [
        ({"tidal-lines": "EUR", "first-sun": "EUR"}, None),
        ({"tidal-lines": "EUR"}, "unknown product 'first-sun'."),
        (
            {"tidal-lines": "EUR", "first-sun": "HUF"},
            "the product 'first-sun' is sold in HUF, not in EUR.",
        ),
    ],
)
def test_an_order_must_fit_the_shop(currencies: dict[str, str], reason: str | None) -> None:
    draft = read_submission(submission(GOOD))
    assert isinstance(draft, Draft)
    assert mismatch(draft.data, currencies) == reason


@pytest.mark.parametrize("language", ["hu", "pt-BR", "zh-Hans-CN"])
def test_an_order_may_say_the_language_of_its_emails(language: str) -> None:
    assert as_json(parse({**GOOD, "language": language}))["language"] == language
    assert "language" not in as_json(parse(GOOD))


@pytest.mark.parametrize("language", ["", "Hungarian", "en_GB", "hu\n", 5, "en-" + "a" * 9])
def test_a_language_that_is_no_tag_is_refused(language: object) -> None:
    with pytest.raises(BadOrderError, match="language must be the tag of a language"):
        parse({**GOOD, "language": language})


def test_an_address_keeps_what_it_has_and_a_code_that_an_earlier_release_took() -> None:
    for ship_to in (
        {**PARIS, "line2": "Floor 2", "state": "Ile de France", "phone": "+33 1 23 45 67 89"},
        {**PARIS, "postal_code": "not of France"},
        {"name": "Ada", "street": "1 Main St", "city": "Mong Kok", "state": "Kowloon", "country": "HK"},
    ):
        order = parse(submitted_body(ship_to={**ship_to, "planet": "Earth"}))
        assert as_json(order)["ship_to"] == ship_to
