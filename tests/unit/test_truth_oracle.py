"""The oracle of `tests/browser/truth` complains about what is untrue, and about pages that are out of date."""

from dataclasses import replace

from tests.browser.truth.facts import Effect, Occurred, Story
from tests.browser.truth.letters import moment_of
from tests.browser.truth.moments import Moment, Words
from tests.browser.truth.oracle import judge

PLACED = 1_000.0
CHARGED = PLACED + 3
STORY = Story(
    placed=PLACED,
    promise=60.0,
    effects=[
        Effect(operation="authorise", at=PLACED + 1, amount=3900),
        Effect(operation="capture", at=CHARGED, amount=3900),
    ],
    events=[Occurred(kind="step_completed", step="capture-payment", at=CHARGED)],
)
UNCHARGED = Words(text="Nothing was charged.", where="sentence")
PAGE = Moment(
    source="", since=PLACED, until=PLACED + 0.1, words=[UNCHARGED], closed_at=CHARGED, catches_up=6.0
)


def complaints(moment: Moment) -> str:
    return "\n".join(judge(STORY, [moment]).complaints)


def test_what_was_untrue_when_it_arrived_is_a_complaint() -> None:
    assert complaints(PAGE) == ""
    assert "untrue" in complaints(replace(PAGE, since=CHARGED + 5, until=CHARGED + 5.1))


def test_a_page_that_stays_open_is_out_of_date_once_it_has_had_its_time_to_catch_up() -> None:
    assert complaints(replace(PAGE, closed_at=CHARGED + 5.9)) == ""
    assert "out of date" in complaints(replace(PAGE, closed_at=CHARGED + 6.1))


def test_a_form_and_an_email_never_catch_up() -> None:
    assert complaints(replace(PAGE, closed_at=CHARGED + 100, catches_up=0.0)) == ""


def test_a_page_that_does_not_say_that_its_order_is_late_is_out_of_date() -> None:
    arrival = Words(text="Should arrive Tue 1 Dec – Thu 3 Dec", where="label")
    late = STORY.placed + STORY.promise + 1
    story = replace(STORY, effects=[], events=[])
    page = replace(PAGE, words=[arrival])
    assert judge(story, [replace(page, closed_at=late + 5.9)]).complaints == []
    assert "out of date" in judge(story, [replace(page, closed_at=late + 6.1)]).complaints[0]


def sums(*rows: str) -> Moment:
    return replace(PAGE, words=[Words(text="; ".join(rows), where="sums")])


ROWS = ("Delivery to the United Kingdom: €9.90", "Total: €48.90", "Includes 20% VAT: €8.15")
ORDER = {
    "lines": [{"sku": "first-sun", "title": "First Sun", "quantity": 1, "unit_price": 3900}],
    "ship_to": {"country": "GB"},
    "delivery": {"price": 990, "fewest_days": 2, "most_days": 4},
    "tax": {"rate": 2000, "amount": 815},
    "total": 4890,
}


def test_a_page_that_still_cancels_or_still_has_nothing_to_ask_is_out_of_date() -> None:
    request = Occurred(kind="compensation_requested", step="", at=PLACED - 1)
    over = {
        "We’re cancelling your order.": [request, Occurred(kind="compensated", step="", at=CHARGED)],
        "There’s nothing you need to do.": [
            Occurred(kind="step_declined", step="authorise-payment", at=CHARGED - 1)
        ],
    }
    for text, events in over.items():
        story, page = replace(STORY, events=events), replace(PAGE, words=[Words(text=text, where="sentence")])
        assert judge(story, [replace(page, closed_at=CHARGED + 5.9)]).complaints == []
        assert "out of date" in judge(story, [replace(page, closed_at=CHARGED + 6.1)]).complaints[0]


def test_the_rows_of_a_sum_are_those_of_the_order() -> None:
    story = replace(STORY, versions=[ORDER])
    assert judge(story, [sums(*ROWS)]).complaints == []
    wrong_tax = sums(*ROWS[:2], "Includes 20% VAT: €8.14")
    for wrong in (wrong_tax, sums(*ROWS[:2]), sums("Delivery to France: €9.90", *ROWS[1:])):
        assert "untrue" in judge(story, [wrong]).complaints[0]


def test_the_rows_of_a_sum_are_those_that_the_order_had_before_it_was_corrected_and_then_the_others() -> None:
    steps = {"reserve-stock": PLACED + 9.99, "authorise-payment": PLACED + 10}
    corrected = [Occurred(kind="corrected", step=step, at=at) for step, at in steps.items()]
    fewer = {**ORDER, "delivery": {"price": 0}, "tax": {"rate": 2000, "amount": 650}, "total": 3900}
    story = replace(STORY, events=corrected, versions=[ORDER, fewer], changes=[PLACED + 9])
    after = sums("Delivery to the United Kingdom: free", "Total: €39.00", "Includes 20% VAT: €6.50")
    later = PLACED + 20
    assert judge(story, [sums(*ROWS), replace(after, since=later, until=later + 0.1)]).complaints == []
    assert "untrue" in judge(story, [after]).complaints[0]
    assert "untrue" in judge(story, [replace(sums(*ROWS), since=later, until=later + 0.1)]).complaints[0]


def test_the_lines_are_those_of_the_order() -> None:
    story = replace(STORY, versions=[ORDER])
    for text in ("First Sun: 1 × €39.00", "1 × First Sun: €39.00"):
        assert judge(story, [replace(PAGE, words=[Words(text=text, where="lines")])]).complaints == []
    for text in ("First Sun: 2 × €39.00", "Quiet Summit: 1 × €39.00", "1 × First Sun: €38.00"):
        assert (
            "untrue" in judge(story, [replace(PAGE, words=[Words(text=text, where="lines")])]).complaints[0]
        )


def test_the_lines_name_a_print_of_another_size_as_its_poster() -> None:
    line = {"sku": "first-sun-45x60", "title": "First Sun, 45 × 60 cm", "quantity": 1, "unit_price": 7800}
    story = replace(STORY, versions=[{**ORDER, "lines": [line]}])
    moment = replace(PAGE, words=[Words(text="First Sun: 1 × €78.00", where="lines")])
    assert judge(story, [moment]).complaints == []


def test_an_email_says_what_was_ordered_and_what_it_comes_to() -> None:
    rows = "\n".join(f"  {row}" for row in ROWS)
    body = (
        f"Your order was cancelled.\n\n  1 × First Sun: €39.00\n      50 × 70 cm\n{rows}\n\nOrder number: 7"
    )
    email = {"at": "2030-01-01T12:00:00+00:00", "subject": "Your order was cancelled (7)", "body": body}
    words = {each.where: each.text for each in moment_of(email).words}
    assert (words["sums"], words["total"]) == ("; ".join(ROWS), "€48.90")
    assert words["lines"] == "1 × First Sun: €39.00"
