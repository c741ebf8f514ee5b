"""Who owns a cause, until when it is snoozed, and its ticket."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from orders.access.levels import ADMINISTER, OPERATE
from orders.console import kept_forms
from orders.console.forms.causes import OwnerForm, SnoozeForm, TicketForm
from orders.console.forms.fields import ReasonForm
from orders.console.forms.runbooks import RunbookForm
from orders.console.guards import act, actor
from orders.selectors.database_clock import now
from orders.services.act_results import Result
from orders.services.operators import causes, runbooks, snoozes
from orders.services.operators.alerts import NoSuchGroupError


def _answer(
    request: HttpRequest,
    group_id: int,
    form: forms.Form,
    service: Callable[..., Result],
    arguments: Callable[[Any], Mapping[str, Any]] = lambda form: form.cleaned_data,
    *,
    name: str = "",
    refused_at: str = "",
) -> HttpResponse:
    """Runs an act on a group with what a form says, and shows on the group's page what came of it."""

    def call() -> Result:
        try:
            return service(group_id=group_id, actor=actor(request), **arguments(form))
        except NoSuchGroupError as error:
            raise Http404 from error

    kept_forms.answer(request, f"{name} {group_id}", form, call, refused_at=refused_at)
    return redirect("console:group", group_id)


@act(OPERATE)
def take(request: HttpRequest, group_id: int) -> HttpResponse:
    """Makes the person who asks the owner of a cause."""
    return _answer(request, group_id, ReasonForm(request.POST), causes.take)


@act(OPERATE)
def assign(request: HttpRequest, group_id: int) -> HttpResponse:
    """Makes somebody the owner of a cause, or nobody."""
    return _answer(
        request, group_id, OwnerForm(request.POST), causes.assign, name="owner", refused_at="owner"
    )


@act(OPERATE)
def snooze(request: HttpRequest, group_id: int) -> HttpResponse:
    """Puts a cause out of sight."""
    form, at = SnoozeForm(request.POST), now()
    return _answer(
        request,
        group_id,
        form,
        snoozes.snooze,
        lambda form: form.arguments(now=at),
        name="snooze",
        refused_at="until",
    )


@act(OPERATE)
def wake(request: HttpRequest, group_id: int) -> HttpResponse:
    """Brings a snoozed cause back."""
    return _answer(request, group_id, ReasonForm(request.POST), snoozes.wake)


@act(OPERATE)
def link_ticket(request: HttpRequest, group_id: int) -> HttpResponse:
    """Links a cause with a ticket."""
    return _answer(
        request, group_id, TicketForm(request.POST), causes.link_ticket, name="ticket", refused_at="url"
    )


@act(ADMINISTER)
def write_runbook(request: HttpRequest, group_id: int) -> HttpResponse:
    """Writes what this installation says about the code of a cause."""
    return _answer(
        request, group_id, RunbookForm(request.POST), runbooks.write, name="runbook", refused_at="text"
    )
