"""What the customers of the laboratory see, from the sample's arrival to the end of its analysis."""

from uuid import UUID

import pytest
from babel import Locale
from django.utils import timezone

from examples.lab.samples import register
from orders.engine.errors import Refused
from orders.selectors.tracked_orders import order_of_guest
from orders.testing import run_to_end
from orders.wording.customers.progress import Progress, progress

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("laboratory")]
NO = Refused("no", "the instrument is broken")


def a_sample() -> UUID:
    return register(code="S-1", method="chromatography", batch="B-7")


def seen(order_id: UUID) -> Progress:
    """What the customer sees now."""
    tracked = order_of_guest(order_id=order_id)
    assert tracked is not None
    return progress(tracked, now=timezone.now(), locale=Locale("en"), usual=None)


def stages(page: Progress) -> dict[str, str]:
    return {stage.title: stage.state for stage in page.stages}


def test_a_sample_that_has_just_come_shows_the_stages_to_come() -> None:
    page = seen(a_sample())
    assert page.headline == "Thank you. We have your order."
    assert stages(page) == {
        "We have your sample": "done",
        "Booking the instruments": "later",
        "Sample analysed": "later",
        "Findings reviewed": "later",
        "Report published": "later",
    }


def test_a_finished_analysis_says_that_its_report_is_ready() -> None:
    order_id = a_sample()
    run_to_end(order_id, answers={"review": {"choice": "accept"}})
    page = seen(order_id)
    assert (page.word, page.headline) == ("Report ready", "Your report is ready.")
    assert page.sentences == ["It has the results of both instruments."]
    assert set(stages(page).values()) == {"done"}


def test_a_problem_is_shown_at_its_stage_in_general_words() -> None:
    order_id = a_sample()
    run_to_end(order_id, faults={"instruments": [NO]})
    page = seen(order_id)
    assert page.headline == "We’re looking into a problem with your analysis."
    assert page.sentences == [
        "We’ve alerted our team, and they’ll let you know. There’s nothing you need to do."
    ]
    assert stages(page)["Booking the instruments"] == "stop"
    assert page.may_cancel


def test_a_cancelled_analysis_speaks_of_no_money() -> None:
    order_id = a_sample()
    run_to_end(order_id, compensate=True)
    page = seen(order_id)
    assert page.sentences == ["We couldn’t fulfil it, and we’re sorry."]
    assert stages(page) == {
        "We have your sample": "done",
        "Instruments booked": "reversed",
        "Cancelled by us": "done",
        "Analyses voided": "done",
        "Bookings cancelled": "done",
        "Everything cancelled, and any report withdrawn": "done",
    }
