"""Requests for approval: the list, answering and withdrawing one, and asking for what only an admin does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import kept_forms
from orders.console.erasure_views import erasure_page
from orders.console.flash import show_result
from orders.console.forms.agents import ForceCircuitForm
from orders.console.forms.approvals import ApprovalsForm, NoteForm
from orders.console.forms.fields import ReasonForm
from orders.console.forms.orders import TypedForm
from orders.console.forms.pauses import INTAKE, PlacedPauseForm
from orders.console.guards import act, actor, page, previous_page
from orders.console.order_lookup import read_page
from orders.selectors.database_clock import now
from orders.selectors.desk.approvals import approval_page
from orders.services.act_results import Result, ResultStatus
from orders.services.operators import approvals
from orders.services.operators.approval_acts import pause_parameters
from orders.services.operators.approvals import NoSuchApprovalError
from orders.services.operators.order_erasure import WORD
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import ApprovalAct


@page
def show_approvals(request: HttpRequest) -> HttpResponse:
    """The requests that wait for an answer, or all, newest first."""
    form = ApprovalsForm(request.GET)
    requests = approval_page(state=form.chosen_state, before=form.position, now=now())
    query = {"show": form.chosen_view} if form.chosen_view else {}
    after = urlencode({**query, "after": requests.items[-1].id}) if requests.has_more else ""
    context = {
        "approvals": requests.items,
        "notes": {each.id: _note_form(request, each.id) for each in requests.items if each.is_waiting},
        "view": form.chosen_view,
        "views": ApprovalsForm.VIEWS,
        "first": urlencode(query) if form.position is not None else None,
        "after": after,
    }
    kept_forms.show_rest(request)
    return render(request, "console/approvals/list.html", context)


def _note_form(request: HttpRequest, request_id: int) -> NoteForm:
    """The note of an answer to a request, with what was typed if it was refused."""
    return kept_forms.kept(request, _kept_as(request_id), NoteForm, NoteForm())


def _kept_as(request_id: int) -> str:
    return f"NoteForm {request_id}"


@act(ADMINISTER, confirmed=True)
def approve(request: HttpRequest, request_id: int) -> HttpResponse:
    """Approves a request, which carries out what was asked for."""
    return _answer(request, lambda: approvals.approve(request_id=request_id, actor=actor(request)))


@act(ADMINISTER)
def decline(request: HttpRequest, request_id: int) -> HttpResponse:
    """Declines a request."""
    return _answer_with_note(request, request_id, approvals.decline)


@act(OPERATE)
def withdraw(request: HttpRequest, request_id: int) -> HttpResponse:
    """Withdraws one's own request."""
    return _answer_with_note(request, request_id, approvals.withdraw)


def _answer_with_note(request: HttpRequest, request_id: int, answer: Callable[..., Result]) -> HttpResponse:
    """A note that is refused is shown, with what was typed, in the list of what waits."""
    form, operator = NoteForm(request.POST), actor(request)

    def call() -> Result:
        with _found():
            return answer(request_id=request_id, actor=operator, note=form.cleaned_data["note"])

    kept_forms.answer(request, _kept_as(request_id), form, call)
    if form.is_valid():
        return redirect(previous_page(request))
    return redirect(f"{reverse('console:approvals')}#approval-{request_id}")


def _answer(request: HttpRequest, answer: Callable[[], Result]) -> HttpResponse:
    with _found():
        show_result(request, answer())
    return redirect(previous_page(request))


@contextmanager
def _found() -> Iterator[None]:
    """Answers that there is no such page if there is no such request."""
    try:
        yield
    except NoSuchApprovalError as error:
        raise Http404 from error


@act(OPERATE)
def ask_to_force(request: HttpRequest, agent: str) -> HttpResponse:
    """Asks an admin to force a circuit."""
    form = ForceCircuitForm(request.POST)

    def ask() -> Result:
        values = form.cleaned_data
        parameters = {"agent": agent, "state": values["state"], "seconds": values["seconds"]}
        return approvals.ask(
            act=ApprovalAct.FORCE_CIRCUIT,
            parameters=parameters,
            actor=actor(request),
            reason=values["reason"],
        ).result

    kept_forms.answer(request, f"ForceCircuitForm {agent}", form, ask)
    return _back_to(agent)


@act(OPERATE)
def ask_to_unforce(request: HttpRequest, agent: str) -> HttpResponse:
    """Asks an admin to stop forcing a circuit."""
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    asking = approvals.ask(
        act=ApprovalAct.UNFORCE_CIRCUIT, parameters={"agent": agent}, actor=actor(request), reason=reason
    )
    show_result(request, asking.result)
    return _back_to(agent)


def _back_to(agent: str) -> HttpResponse:
    return redirect(f"{reverse('console:agents')}#{agent}")


@act(OPERATE)
def ask_to_pause_intake(request: HttpRequest) -> HttpResponse:
    """Asks an admin to stop new orders."""
    form, operator = PlacedPauseForm(request.POST, place=INTAKE), actor(request)

    def ask() -> Result:
        return approvals.ask(
            act=ApprovalAct.PAUSE_INTAKE,
            parameters=pause_parameters(minutes=form.cleaned_data["minutes"]),
            actor=operator,
            reason=form.cleaned_data["reason"],
        ).result

    kept_forms.answer(request, form.name, form, ask)
    return redirect("console:pauses")


@act(OPERATE)
def ask_to_erase(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Asks an admin to erase the customer of an order."""
    order, form = read_page(order_id), TypedForm(request.POST, word=WORD)
    if not form.is_valid():
        return erasure_page(request, order, form)
    try:
        asking = approvals.ask(
            act=ApprovalAct.ERASE,
            parameters={"order_id": str(order_id)},
            actor=actor(request),
            **form.cleaned_data,
        )
    except NoSuchOrderError as error:
        raise Http404 from error
    if asking.result.status is ResultStatus.REFUSED:
        form.show_refusal(asking.result.message)
        return erasure_page(request, order, form)
    show_result(request, asking.result)
    return redirect("console:order", order_id)
