"""What the pages say of trouble that is over, or goes on: how large it was, when, how it ended, and whose it was."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from orders.engine.alerts import NewAlert, close_alerts, close_outage, open_alerts, open_outage
from orders.models import AgentInstance, Alert, AlertGroup, Circuit, LeaderLease, StepState
from orders.selectors.desk.causes import open_times
from orders.selectors.desk.lately_ended import lately_ended
from orders.services.operators import causes
from orders.wording.moments import minute, span
from tests.support.desk import OLGA, fail, failed_orders, group_of
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase
from tests.support.people import person, signed_in
from tests.web.test_console_alerts import text_of
from tests.web.test_handover_of_everything import make_wait

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]


@pytest.fixture
def olga(db: None) -> Client:
    LeaderLease.objects.create(name="supervisor", holder="s", term=1, expires_at=ahead(60), swept_at=ago(1))
    AgentInstance.objects.create(agent="van", instance="agents:1", capacity=8)
    Circuit.objects.create(agent="van")
    return signed_in(person("operator", "olga"))


def page_of(group: AlertGroup, part: str = "") -> str:
    return f"/console/alerts/{group.pk}/{part}"


def will_be_late(agent: str = "van") -> AlertGroup:
    alert = NewAlert(None, "late", "deadlines", f"orders waiting for {agent} will be late", agent, "", agent)
    open_alerts([alert._replace(step="", agent=agent, subject=agent)])
    return group_of("deadlines")


def an_order_waits(*, total: int = 1_000, promised_in: float = 300, since: float = 60) -> None:
    order = make_order({"mix": {"waiting_since": ago(since), "agent": "van"}})
    make_purchase(order.order_id, total=total, promised_by=ahead(promised_in))
    make_wait(order.order_id, "van", seconds_ago=since)


def test_deadlines_put_the_same_orders_and_money_at_risk_on_every_page(olga: Client) -> None:
    group = will_be_late()
    for _ in range(2):
        an_order_waits(since=900)
    assert "€20.00 is at stake. 2 orders are due by " in text_of(olga.get("/console/"))
    assert "€20.00" in text_of(olga.get("/console/alerts/"))
    assert "€20.00 2 orders wait, of " in text_of(olga.get(page_of(group)))
    assert "2 orders wait, €20.00, since " in text_of(olga.get("/console/handover/"))


def test_the_history_of_deadlines_has_the_orders_that_waited_and_why_it_ended(olga: Client) -> None:
    group = will_be_late()
    an_order_waits(since=900)
    Alert.objects.update(
        opened_at=ago(600),
        closed_at=ago(300),
        closed_by="the web",
        resolution="the queue is fast enough again",
    )
    StepState.objects.update(waiting_since=None)
    history = text_of(olga.get(page_of(group, "history/")))
    assert "1 order waited for van, worth €10.00. It ended: the queue is fast enough again." in history
    assert "by the web" not in history and "No order" not in history
    headline = text_of(olga.get(page_of(group)))
    assert "Orders that waited for van were going to be late from " in headline


def test_orders_whose_step_is_paused_will_be_late_still(olga: Client) -> None:
    will_be_late()
    an_order_waits()
    StepState.objects.update(waiting_since=None, paused_since=ago(5))
    page = text_of(olga.get("/console/"))
    assert "Orders for van will be late, because their step is paused." in page
    assert "The next check closes this" not in page


def test_a_cause_that_is_over_is_headed_with_when_it_was(olga: Client) -> None:
    open_outage("van", code="http_503", message="van does not answer")
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    began = ago(0) - timedelta(minutes=30)
    Alert.objects.update(opened_at=began, closed_at=began + timedelta(minutes=8))
    lasted = span(began, began + timedelta(minutes=8), today=ago(0).date())
    page = olga.get(page_of(group_of())).content.decode()
    (heading,) = re.findall(r"<h1>\s*<span[^>]*>(.*?)</span>\s*</h1>", page, re.DOTALL)
    assert heading == f"Van was down from {lasted}"
    words = text_of(olga.get(page_of(group_of())))
    assert f"It was open once in the last 30 days, from {lasted} (8 min): the remote service answers" in words


def test_the_page_of_an_outage_becomes_that_of_one_that_is_over_part_by_part(olga: Client) -> None:
    def parts() -> dict[str, str]:
        page = olga.get(page_of(group_of())).content.decode()
        pieces = re.split(r'id="([\w-]+)" data-live(?: data-live-list)?>', page)
        return dict(zip(pieces[1::2], pieces[2::2], strict=True))

    open_outage("van", code="http_503", message="van does not answer")
    before = parts()
    assert "van does not answer" in before["cause-heading"] and "Acknowledge" in before["cause-acts"]
    assert "Take it" in before["owner-now"] and 'id="owner-part" data-live>' in text_with_tags(olga)
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    after = parts()
    assert after.keys() == before.keys()
    assert "Van was down from " in after["cause-heading"] and "Acknowledge" not in after["cause-acts"]
    assert "Take it" not in after["owner-now"] and "It was open once" in after["earlier"]
    assert "data-live-list" not in text_with_tags(olga)


def text_with_tags(olga: Client) -> str:
    return olga.get(page_of(group_of())).content.decode()


def test_an_outage_that_is_over_names_the_orders_that_waited(olga: Client) -> None:
    open_outage("van", code="http_503", message="van does not answer")
    an_order_waits(since=1_790)
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    Alert.objects.update(opened_at=ago(1_800), closed_at=ago(1_200))
    order_id = StepState.objects.values_list("process_id", flat=True).distinct().get()
    for part in ("", "history/"):
        page = olga.get(page_of(group_of(), part)).content.decode()
        assert f'href="/console/orders/{order_id}/"' in page and "The order that waited:" in page
    closed = olga.get(page_of(group_of(), "?show=closed"))
    assert "the remote service answers again, " in text_of(closed) and "circuit breaker" not in text_of(
        closed
    )
    assert 'href="?show=closed#orders-of"' in closed.content.decode()


def test_a_hand_over_heads_an_outage_that_is_over_in_the_past_tense(olga: Client) -> None:
    open_outage("van", code="http_503", message="van does not answer")
    assert "van does not answer" in text_of(olga.get("/console/handover/"))
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    page = text_of(olga.get("/console/handover/"))
    assert "Van was down" in page and "van does not answer" not in page


def test_a_hand_over_with_failed_orders_does_not_say_that_nothing_waits(olga: Client) -> None:
    failed_orders(3)
    assert "Nothing but what is open now." in text_of(olga.get("/console/handover/"))
    assert (
        "Waiting for people: nothing but what is open now"
        in olga.get("/console/handover.txt").content.decode()
    )


def test_an_outage_that_goes_on_was_last_seen_now_and_counts_itself(olga: Client) -> None:
    open_outage("van", code="http_503", message="van does not answer")
    Alert.objects.update(opened_at=ago(900))
    words = text_of(olga.get(page_of(group_of())))
    assert "Last seen now" in words and "0 alerts opened" not in words
    for url in ("/console/alerts/", "/console/"):
        assert "still going on" in text_of(olga.get(url))


def test_an_outage_that_opens_anew_says_who_owned_the_last_one(olga: Client) -> None:
    open_outage("van", code="http_503", message="van does not answer")
    causes.assign(group_id=group_of().pk, actor=OLGA, owner="olga")
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    open_outage("van", code="timeout", message="van is slow")
    owned = group_of().owned_at
    assert owned is not None
    sentence = (
        f"Nobody owns it. olga owned the last outage of van, since {minute(owned, today=ago(0).date())} ."
    )
    assert sentence in text_of(olga.get(page_of(group_of("timeout"))))
    assert "owned the last outage" not in text_of(olga.get(page_of(group_of())))


def test_a_note_is_confirmed_beside_it_once(olga: Client) -> None:
    failed_orders(1)
    answer = olga.post(page_of(group_of(), "note/"), {"text": "The provider knows."})
    note = group_of().notes.get()
    assert answer.headers["Location"] == f"{page_of(group_of())}#note-{note.pk}"
    page = olga.get(page_of(group_of())).content.decode()
    assert "Your note is saved." in page.partition(f'id="note-{note.pk}"')[2].partition("</article>")[0]
    assert "Your note is saved." not in olga.get(page_of(group_of())).content.decode()


def test_the_worth_of_a_time_has_no_space_before_its_full_stop(olga: Client) -> None:
    failed_orders(1)
    make_purchase(Alert.objects.get().order_id, total=261_300)
    page = olga.get(page_of(group_of(), "history/")).content.decode()
    assert "worth €2,613.00." in " ".join(page.split())


def test_a_card_that_stands_for_two_alerts_says_so(olga: Client) -> None:
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30), cause_code="http_503")
    make_alert(None, kind="outage", agent="van", code="http_503")
    assert "alerts are open about it" not in text_of(olga.get("/console/"))
    will_be_late()
    page = text_of(olga.get("/console/"))
    assert "2 alerts are open about it." in page and "2 open alerts" in page


def test_the_overview_lists_what_ended_lately_and_nothing_that_goes_on(olga: Client) -> None:
    assert "Ended in the last 8 hours" not in text_of(olga.get("/console/"))
    open_outage("van", code="http_503", message="van does not answer")
    an_order_waits(since=1_790)
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    Alert.objects.update(opened_at=ago(1_800), closed_at=ago(1_200))
    orders = failed_orders(3, code="refused", message="no flour")
    close_alerts(orders, by="olga", resolution="resubmitted")
    of_orders = Alert.objects.filter(code="refused")
    of_orders.update(opened_at=ago(900), closed_at=ago(600))
    of_orders.filter(order_id=orders[0]).update(opened_at=ago(9_000), closed_at=ago(8_000))
    for code, closed in (("long_ago", 9 * 3_600), ("open", None)):
        failed_orders(1, code=code)
        at = None if closed is None else ago(closed)
        Alert.objects.filter(code=code).update(opened_at=ago(10 * 3_600), closed_at=at)
    count, ended = lately_ended(now=ago(0))
    assert count == 3
    assert [(cause.code, cause.orders) for cause in ended] == [
        ("refused", 2),
        ("http_503", 1),
        ("refused", 1),
    ]
    page = text_of(olga.get("/console/"))
    today = ago(0).date()
    down = f"Van was down from {span(ended[1].began_at, ended[1].ended_at, today=today)} (10 min). 1 order waited."
    assert down in page and "Everything is working" not in page
    failed = (
        f"2 orders failed at kitchen from {span(ended[0].began_at, ended[0].ended_at, today=today)} (5 min)"
    )
    assert f"{failed}: “no flour”" in page


def test_each_ended_time_is_counted_also_of_a_cause_that_is_open_again(olga: Client) -> None:
    for began in (6_000, 5_000, 4_000, 3_000, 2_000, 1_000):
        open_outage("van", code="http_503", message="van does not answer")
        close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
        Alert.objects.filter(opened_at__gt=ago(500)).update(opened_at=ago(began), closed_at=ago(began - 400))
    orders = failed_orders(7, code="refused", message="no flour")
    close_alerts(orders, by="olga", resolution="resubmitted")
    Alert.objects.filter(code="refused").update(opened_at=ago(9_000), closed_at=ago(8_000))
    open_outage("van", code="http_503", message="van does not answer")
    page = text_of(olga.get("/console/"))
    assert "Ended in the last 8 hours: 7 " in page and "5 of 7 are shown. History of causes" in page
    fail(*orders[:1], code="refused", message="no flour")  # nine minutes later it would be the same time
    assert lately_ended(now=ago(0))[0] == 7
    Alert.objects.filter(code="refused", closed_at=None).update(opened_at=ago(8_000 - 540))
    assert lately_ended(now=ago(0))[0] == 6


def test_times_of_lateness_are_not_joined_over_a_time_when_nothing_was_the_matter(olga: Client) -> None:
    group = will_be_late()
    Alert.objects.update(opened_at=ago(1_500), closed_at=ago(1_260))
    will_be_late()
    Alert.objects.filter(closed_at=None).update(opened_at=ago(900), closed_at=ago(840))
    times = [(each.began_at, each.ended_at) for each in open_times(since=ago(3_600), until=ago(0))]
    assert [round((ended - began).total_seconds()) for began, ended in times if ended] == [60, 240]
    assert lately_ended(now=ago(0))[0] == 2
    words = text_of(olga.get(page_of(group)))
    assert "It was open 2 times in the last 30 days" in words


def test_a_service_that_works_is_not_called_closed_and_one_that_is_down_says_when_it_is_tried(
    olga: Client,
) -> None:
    assert "working" in text_of(olga.get("/console/agents/"))
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(600))
    probe = Circuit.objects.get().probe_at
    for url in ("/console/", "/console/agents/"):
        assert f"down next try {minute(probe, today=ago(0).date())}" in text_of(olga.get(url))
    Circuit.objects.update(state="half_open")
    assert "being tried" in text_of(olga.get("/console/agents/"))


def test_every_page_says_in_which_zone_its_times_are_and_what_time_it_is(olga: Client) -> None:
    for url in ("/console/", "/console/handover/"):
        page = olga.get(url).content.decode()
        assert page.count('title="All times of the console are in UTC"') == 2  # a window shows one of them
        assert re.search(r"data-now>\d\d:\d\d</time>&nbsp;UTC", page)
