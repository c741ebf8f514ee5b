"""What `tests/browser/truth` complains about when an email is missing, or has come twice."""

from collections.abc import Sequence
from dataclasses import replace

from tests.browser.truth.facts import FaultSpan, Occurred, Story
from tests.browser.truth.mailboxes import missing_emails, repeated_emails
from tests.browser.truth.moments import Moment, Words

WELCOME, CONFIRMED = "We have your order (7)", "Your order is on its way (7)"
CANCELLED, DECLINED = "Your order was cancelled (7)", "Your card was declined (7)"


def story(events: Sequence[tuple[float, str, str]], *subjects: str) -> Story:
    return Story(
        placed=1.0,
        events=[Occurred(kind=kind, step=step, at=at) for at, kind, step in events],
        emails=[(2.0, subject) for subject in subjects],
    )


def page(headline: str, at: float) -> Moment:
    return Moment(source="", since=at, until=at, words=[Words(text=headline, where="headline")])


SENT = (3.0, "step_completed", "send-confirmation")
ENDED = (9.0, "compensated", "")
CANCELLED_PAGE = page("Your order was cancelled.", 9.5)


def test_a_guest_is_sent_the_link_unless_no_email_could_be_sent() -> None:
    assert list(missing_emails(story([]), [])) == ["no email has arrived with the link to the order"]
    assert list(missing_emails(story([], WELCOME), [])) == []
    fault = FaultSpan(service="mail", name="refuse_rate", value=1.0, since=0.0, until=5.0)
    assert list(missing_emails(replace(story([]), faults=[fault]), [])) == []


def test_a_confirmation_that_was_sent_arrives() -> None:
    assert list(missing_emails(story([SENT], WELCOME), [])) == [
        "the email that confirms the order is missing"
    ]
    assert list(missing_emails(story([SENT], WELCOME, CONFIRMED), [])) == []


def test_who_has_been_sent_a_confirmation_is_emailed_that_it_no_longer_holds() -> None:
    silent = story([SENT, ENDED], CONFIRMED)
    expected = ["the order was confirmed by email, but not its cancellation"]
    assert list(missing_emails(silent, [CANCELLED_PAGE])) == expected
    assert list(missing_emails(story([SENT, ENDED], CONFIRMED, CANCELLED), [])) == []


def test_a_cancellation_is_seen_or_emailed() -> None:
    silent = story([ENDED], WELCOME)
    (complaint,) = missing_emails(silent, [page("Your order was cancelled.", 8.0)])
    assert "neither its page nor an email" in complaint
    assert list(missing_emails(silent, [CANCELLED_PAGE])) == []
    assert list(missing_emails(story([ENDED], WELCOME, CANCELLED), [])) == []


def test_what_was_declined_for_a_while_is_seen_or_emailed() -> None:
    refused, paid_soon = (3.0, "step_declined", "authorise-payment"), (47.0, "paid_again", "")
    paid_late = (49.0, "paid_again", "")
    assert list(missing_emails(story([refused, paid_soon], WELCOME), [])) == []
    (complaint,) = missing_emails(story([refused, paid_late], WELCOME), [])
    assert "a step was declined" in complaint
    assert (
        list(missing_emails(story([refused, paid_late], WELCOME), [page("Your card was declined.", 4.0)]))
        == []
    )
    assert list(missing_emails(story([refused, paid_late], WELCOME, DECLINED), [])) == []


def test_an_email_comes_twice_only_after_a_failure() -> None:
    assert list(repeated_emails(story([SENT], CONFIRMED))) == []
    assert list(repeated_emails(story([SENT], CONFIRMED, CONFIRMED))) == [
        "the email 'Your order is on its way' has arrived 2 times"
    ]
    failed = (2.0, "step_timed_out", "send-confirmation")
    assert list(repeated_emails(story([failed, SENT], CONFIRMED, CONFIRMED))) == []
