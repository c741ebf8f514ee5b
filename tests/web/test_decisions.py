"""Where people decide: the console's pages and the API. The first answer counts, and each one is recorded."""

import pytest
from django.conf import settings as django_settings
from rest_framework.test import APIClient

from orders.access import second_factor
from orders.models import Order, OrderProcess
from tests.support.factories import ago, ahead, step_of
from tests.support.people import person, signed_in
from tests.support.roles import a_scheduler, stored
from tests.web.conftest import Desk
from tests.web.decided_cakes import (
    API,
    TASTED,
    a_cake,
    answers,
    at,
    audited,
    bakery,
    text_of,
)
from tests.web.helpers import mistakes
from tests.web.second_factors import code_of, give, move, with_device

__all__ = ["bakery"]
pytestmark = pytest.mark.django_db


# --- the page of an order


def test_a_choice_on_the_page_of_an_order_is_the_result_of_the_step(desk: Desk) -> None:
    order = a_cake()
    client = desk("operator")
    page = text_of(client.get(at(order)))
    assert "Decide taste" in page
    assert page.count('<button class="button" name="choice"') == 2
    assert '<button class="button button--danger" name="choice" value="bin">' in page
    done = client.post(
        f"{at(order)}steps/taste/decide/", {"choice": "bake again", "reason": "too dry"}, follow=True
    )
    name = done.wsgi_request.user.get_username()
    assert "Decided taste: bake again." in text_of(done)
    assert "Decide taste" not in text_of(done)
    a_scheduler(workflows=TASTED).run_once()
    assert step_of(order, "taste").result == {"choice": "bake again", "by": name, "note": "too dry"}
    assert audited() == [(name, "Decided taste: bake again.", "too dry", True)]


def test_whoever_comes_second_is_told_so(desk: Desk) -> None:
    order = a_cake()
    for choice in ("serve", "bake again"):
        page = desk("operator").post(f"{at(order)}steps/taste/decide/", {"choice": choice}, follow=True)
    assert "Step taste has been answered already." in text_of(page)
    assert [answer["choice"] for answer in answers()] == ["serve"]
    assert [entry[1:] for entry in audited()] == [
        ("Decided taste: serve.", "", True),
        ("Step taste has been answered already.", "", False),
    ]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({}, "Choose one of the choices."),
        ({"choice": "eat"}, "&#x27;eat&#x27; is not one of the choices: serve, bake again, bin."),
        ({"choice": "bin", "reason": "burnt", "typed": "39.00"}, "Decide taste: bin"),
        ({"choice": "serve", "reason": "x" * 201}, "Shorten the reason to 200 characters."),
    ],
)
def test_what_cannot_be_chosen_here_is_refused(desk: Desk, form: dict[str, str], sentence: str) -> None:
    order = a_cake()
    page = desk("operator").post(f"{at(order)}steps/taste/decide/", form, follow=True)
    assert sentence in text_of(page)
    assert answers() == []


def test_after_its_time_a_decision_is_neither_offered_nor_taken(desk: Desk) -> None:
    order = a_cake(complete_by=ago(1))
    client = desk("operator")
    assert "Decide taste" not in text_of(client.get(at(order)))
    page = client.post(f"{at(order)}steps/taste/decide/", {"choice": "serve"}, follow=True)
    assert "The time for the answer to taste is over." in text_of(page)
    assert "can no longer be chosen" in text_of(
        client.get(f"{at(order)}steps/taste/decide/confirm/?choice=bin")
    )
    assert "Nothing is waiting for a decision." in text_of(client.get("/console/decisions/"))
    assert answers() == []


def test_a_choice_that_has_the_order_compensated_is_confirmed_with_the_note_that_was_typed_beside_it(
    desk: Desk,
) -> None:
    order = a_cake()
    answer = desk("operator").post(
        f"{at(order)}steps/taste/decide/", {"choice": "bin", "reason": "burnt & black"}, follow=True
    )
    assert answer.redirect_chain == [
        (f"{at(order)}steps/taste/decide/confirm/?choice=bin&reason=burnt+%26+black", 302)
    ]
    assert 'name="reason" value="burnt &amp; black"' in text_of(answer)
    assert (answers(), audited()) == ([], [])


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(
    ("total", "word", "state"),
    [(3_900, "39.00", "cancelled and €39.00 refunded"), (None, "cancel", "cancelled")],
)
def test_a_choice_that_has_the_order_compensated_is_confirmed_as_a_compensation_is(
    desk: Desk, total: int | None, word: str, state: str
) -> None:
    order = a_cake(total=total)
    client, url = desk("operator"), f"{at(order)}steps/taste/decide/confirm/?choice=bin"
    page = text_of(client.get(url))
    assert f"the whole order is {state}." in page and f"Type {word} to confirm" in page
    assert ("€39.00" in page) is (total is not None)
    for form in ({"reason": "burnt", "typed": "39"}, {"reason": " ", "typed": word}):
        assert client.post(url, form).status_code == 422
    assert answers() == []
    done = text_of(client.post(url, {"reason": "burnt", "typed": word}, follow=True))
    assert f"Decided taste: bin. The order will be {state}." in done
    a_scheduler(workflows=TASTED).run_once()
    assert stored(order).goal == "compensate"
    assert [entry[3] for entry in audited()] == [False, False, True]


def test_it_is_confirmed_only_while_it_can_be_chosen(desk: Desk) -> None:
    order = a_cake()
    client, url = desk("operator"), f"{at(order)}steps/taste/decide/confirm/"
    for choice in ("serve", "eat", ""):
        assert "can no longer be chosen" in text_of(client.get(f"{url}?choice={choice}"))
    client.post(f"{at(order)}steps/taste/decide/", {"choice": "serve"})
    late = client.post(f"{url}?choice=bin", {"reason": "burnt", "typed": "39.00"})
    assert late.status_code == 422
    assert "Step taste has been answered already." in text_of(late)
    assert [answer["choice"] for answer in answers()] == ["serve"]


def test_it_needs_a_fresh_second_factor() -> None:
    order, user = a_cake(), person("operator")
    device, client = with_device(user), signed_in(user)
    assert give(client, code_of(device)).status_code == 302
    move(client, **{second_factor.GIVEN_AT: django_settings.SECOND_FACTOR_FRESH.total_seconds() + 1})
    url = f"{at(order)}steps/taste/decide/confirm/?choice=bin"
    redirect = client.post(url, {"reason": "burnt", "typed": "39.00"})
    assert redirect["Location"].startswith("/console/second-factor/?next=")
    assert (answers(), audited()) == ([], [])
    assert client.post(f"{at(order)}steps/taste/decide/", {"choice": "serve"})["Location"] == at(order)
    assert len(answers()) == 1


def test_a_viewer_sees_the_choices_and_may_not_choose(desk: Desk) -> None:
    order = a_cake()
    viewer = desk("viewer")
    page = text_of(viewer.get(at(order)))
    assert "The choices are serve, bake again, bin." in page
    assert "/decide/" not in page and '<button class="button" name="choice"' not in page
    assert viewer.post(f"{at(order)}steps/taste/decide/", {"choice": "serve"}).status_code == 403
    url = f"{at(order)}steps/taste/decide/confirm/?choice=bin"
    assert viewer.get(url).status_code == 403
    assert viewer.post(url, {"reason": "burnt", "typed": "39.00"}).status_code == 403
    assert answers() == []
    assert [entry[1:] for entry in audited()] == [("needs orders.operate", "", False)] * 2


def test_a_decision_of_a_workflow_that_this_release_lacks_is_not_taken(desk: Desk) -> None:
    order = a_cake()
    OrderProcess.objects.update(version=2)
    page = desk("operator").post(f"{at(order)}steps/taste/decide/", {"choice": "bin"}, follow=True)
    assert "This release has no decision taste in bake-tasted, version 2." in text_of(page)
    assert answers() == []


# --- the list


def test_what_waits_is_listed_with_the_earliest_deadline_first(desk: Desk, operator: APIClient) -> None:
    later, sooner = a_cake(complete_by=ahead(900), title="rye cake"), a_cake(complete_by=ahead(60))
    a_cake(complete_by=None)  # answered
    OrderProcess.objects.filter(pk=a_cake().pk).update(goal="compensate")
    client = desk("viewer")
    page = text_of(client.get("/console/decisions/"))
    assert page.count("data-key-id=") == 2
    assert page.index(str(sooner.pk)) < page.index(str(later.pk))
    for text in (
        "walnut cake",
        "rye cake",
        "table 7",
        "serve, bake again, bin",
        f"{at(sooner)}#decide-taste",
    ):
        assert text in page, text
    overview = operator.get(f"{API}/decisions").json()
    assert [decision["order_id"] for decision in overview["results"]] == [str(sooner.pk), str(later.pk)]
    first, taste = overview["results"][0], step_of(sooner, "taste")
    assert {name: first[name] for name in ("workflow", "title", "subject", "step", "choices")} == {
        "workflow": "bake-tasted",
        "title": "walnut cake",
        "subject": "table 7",
        "step": "taste",
        "choices": [
            {"choice": "serve", "compensates": False},
            {"choice": "bake again", "compensates": False},
            {"choice": "bin", "compensates": True},
        ],
    }
    assert taste.complete_by is not None
    assert first["until"] == taste.complete_by.isoformat().replace("+00:00", "Z")
    assert first["since"] is not None and overview["next"] is None


def test_pages_of_the_list_meet_even_where_deadlines_are_equal(operator: APIClient) -> None:
    same = ahead(60)
    orders = [a_cake(complete_by=same) for _ in range(5)]
    path, seen = f"{API}/decisions?page_size=2", []
    while path:
        page = operator.get(path).json()
        seen += [decision["order_id"] for decision in page["results"]]
        path = page["next"]
    assert seen == [str(order.pk) for order in orders]
    assert mistakes(operator.get(f"{API}/decisions?cursor=x")) == ["cursor"]


def test_what_waits_about_a_subject_is_found(operator: APIClient) -> None:
    order = a_cake()
    Order.objects.filter(pk=a_cake().pk).update(subject="table 8")
    matches = operator.get(f"{API}/decisions?subject=table+7").json()["results"]
    assert [decision["order_id"] for decision in matches] == [str(order.pk)]
    assert operator.get(f"{API}/decisions?subject=table").json()["results"] == []


def test_the_console_has_pages_of_fifty_and_counts_them_in_its_navigation(desk: Desk) -> None:
    client = desk("viewer")
    assert 'id="open-decisions" data-live hidden' in text_of(client.get("/console/"))
    for number in range(51):
        a_cake(complete_by=ahead(60 + number))
    page = client.get("/console/decisions/")
    assert '>51<span class="unseen"> waiting</span>' in text_of(page)
    second = text_of(client.get(f"/console/decisions/?after={page.context['after']}"))
    assert (text_of(page).count("data-key-id="), second.count("data-key-id=")) == (50, 1)
    assert client.get("/console/decisions/?after=nonsense").status_code == 200
