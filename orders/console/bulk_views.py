"""Bulk actions: choosing one, the list, and one under way."""

from dataclasses import dataclass, field
from secrets import token_urlsafe

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from orders.access.levels import OPERATE
from orders.console.csv_safe import csv_lines
from orders.console.guards import act, actor, needs, page, previous_page
from orders.selectors.clock import now
from orders.selectors.desk import bulk
from orders.selectors.desk import bulk_selection as choosing
from orders.selectors.desk.bulk_selection import Choice
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk import (
    COUNT_FROM,
    CountMismatchError,
    ImpossibleActionError,
    NoSuchActionError,
    NothingToDoError,
    TooLateError,
    TooManyError,
)

ACTS = {
    "pause": (bulk_services.pause, gettext_lazy("Paused: no further order is acted on until it is resumed.")),
    "resume": (bulk_services.resume, gettext_lazy("It goes on.")),
    "stop": (bulk_services.stop, gettext_lazy("Stopped. What it has acted on goes on.")),
    "undo": (bulk_services.undo, gettext_lazy("Undone: nothing was changed.")),
}


@page
def actions(request: HttpRequest) -> HttpResponse:
    """The list, newest first."""
    found = bulk.action_page(after=_number(request.GET.get("after", "")), now=now())
    return render(request, "console/bulk/list.html", {"page": found, "is_first": "after" not in request.GET})


@page
def action(request: HttpRequest, action_id: int) -> HttpResponse:
    """One action: its waves, what came of each order, and the buttons; or the results as a file."""
    found = bulk.find_action(action_id, now=now())
    if found is None:
        raise Http404
    if request.GET.get("format") == "csv":
        rows = bulk.results(action_id, most=bulk_services.MOST)
        columns = ("order", "wave", "state", "said", "acted_at", "ended_at")
        answer = HttpResponse("".join(csv_lines(columns, rows)), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="bulk-{action_id}.csv"'
        return answer
    state = request.GET.get("state", "")
    items = bulk.item_page(action_id, state=state, after=_number(request.GET.get("after", "")))
    return render(
        request,
        "console/bulk/action.html",
        {
            "it": found,
            "items": items,
            "state": state,
            "is_first": "after" not in request.GET,
            "choices": [
                ("", gettext_lazy("All"), found.action.total),
                ("waiting", gettext_lazy("Waiting"), found.waiting),
                ("acted", gettext_lazy("Under way"), found.acted),
                ("done", gettext_lazy("Done"), found.done),
                ("failed", gettext_lazy("Failed again"), found.failed),
                ("nothing", gettext_lazy("Nothing to do"), found.nothing),
            ],
        },
    )


@act(OPERATE)
def change(request: HttpRequest, action_id: int, act: str) -> HttpResponse:
    """Pauses, resumes, stops or undoes an action, and goes back to where the button was."""
    if act not in ACTS:
        raise Http404
    service, said = ACTS[act]
    try:
        service(action_id=action_id, actor=actor(request))
    except NoSuchActionError as error:
        raise Http404 from error
    except TooLateError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)
    return redirect(previous_page(request))


@dataclass(kw_only=True)
class Form:
    """What was typed, and what is wrong with it, by field."""

    waves: str = "1, 10, 100, 0"
    rate: str = "20"
    stop_percent: str = "20"
    reason: str = ""
    typed: str = ""
    token: str = field(default_factory=lambda: token_urlsafe(16))
    seen: int | None = None
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, posted: QueryDict) -> "Form":
        """The form that was sent, with its mistakes."""
        names = ("waves", "rate", "stop_percent", "reason", "typed", "token")
        form = cls(**{name: posted.get(name, "").strip()[:200] for name in names})
        form.seen = _number(posted.get("seen", ""))
        form.numbers()
        return form

    def numbers(self) -> tuple[list[int], float, float]:
        """Waves, rate, and the share at which to stop; what is no number is noted as a mistake."""
        waves: list[int] = []
        rate = percent = 0.0
        try:
            waves = [int(part) for part in self.waves.split(",")]
        except ValueError:
            self.errors["waves"] = _("Whole numbers with commas between them, as in 1, 10, 100, 0.")
        try:
            rate = float(self.rate)
        except ValueError:
            self.errors["rate"] = _("A number, as in 20 or 0.5.")
        try:
            percent = float(self.stop_percent)
        except ValueError:
            self.errors["stop_percent"] = _("A number from 0 to 100.")
        return waves, rate, percent / 100


def _new(request: HttpRequest) -> HttpResponse:
    return _preview(request, _choice(request.GET), Form())


new = needs(OPERATE, require_safe(_new))
"""What would be acted on, how, and how many: to be looked at before it is begun."""


@act(OPERATE, confirmed=True)
def create(request: HttpRequest) -> HttpResponse:
    """Begins an action, or shows again what has to be looked at once more."""
    choice = _choice(request.POST)
    form = Form.read(request.POST)
    if form.errors:
        return _preview(request, choice, form)
    waves, rate, stop_share = form.numbers()
    order_ids = choosing.orders_of(choice, tries=retry_limits(), now=now())
    if form.seen is not None and len(order_ids) > form.seen:
        form.errors["count"] = _("More orders match now than were shown. Look again.")
        return _preview(request, choice, form)
    try:
        if len(order_ids) > choosing.MOST:
            raise TooManyError
        made = bulk_services.create(
            kind=choice.kind,
            order_ids=order_ids,
            what=choice.what,
            actor=actor(request),
            reason=form.reason,
            group=choice.group,
            query=choice.query,
            waves=waves,
            stop_share=stop_share,
            rate=rate,
            typed_count=_number(form.typed),
            token=form.token,
        )
    except CountMismatchError as error:
        form.errors["typed"] = _("Type %(count)s to confirm it.") % {"count": error.count}
    except NothingToDoError:
        form.errors["count"] = _("No order matches any more, so there is nothing to do.")
    except TooManyError:
        form.errors["count"] = _("That is more than one action may take. Narrow the filter.")
    except ImpossibleActionError as error:
        form.errors["waves"] = str(error)
    else:
        return redirect("console:bulk", made.pk)
    return _preview(request, choice, form)


def _choice(asked: QueryDict) -> Choice:
    choice = choosing.read_choice(
        asked.dict(),
        order_ids=asked.getlist("orders"),
        group_id=asked.get("group", ""),
        upto=asked.get("upto", ""),
        kind=asked.get("do", ""),
    )
    if choice is None:
        raise Http404
    return choice


def _preview(request: HttpRequest, choice: Choice, form: Form) -> HttpResponse:
    count = choosing.count(choice, tries=retry_limits(), now=now())
    return render(
        request,
        "console/bulk/new.html",
        {
            "choice": choice,
            "form": form,
            "count": count,
            "is_too_many": count > choosing.MOST,
            "most": choosing.MOST,
            "needs_count": bulk_services.needs_count(kind=choice.kind, count=count),
            "count_from": COUNT_FROM,
            "fields": [*choice.fields, ("do", choice.kind)],
            "kinds": [
                (choice.address(kind), said, kind == choice.kind)
                for kind, said in (
                    ("resubmit", gettext_lazy("Resubmit")),
                    ("compensate", gettext_lazy("Undo")),
                )
            ],
        },
        status=422 if form.errors else 200,
    )


def _number(text: str) -> int | None:
    """A whole number as it was typed; None if it is none."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else None
