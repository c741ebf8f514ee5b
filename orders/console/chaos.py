"""The chaos panel, for development: makes the sandbox's services fail, kills workers, and shows the system recover.

It is there only with DEBUG and while the sandbox answers. Its buttons are for administrators.
"""

import http.client
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from orders.access.levels import ADMINISTER
from orders.console.guards import act, actor, page
from orders.selectors.clock import now
from orders.selectors.desk.overview import count_queued, recent_counts
from orders.services import audit
from sasweb.launcher import running as living

SERVICES = ("warehouse", "payments", "carrier", "mail")
PATIENCE = 2.0
"""Seconds that the sandbox has for an answer."""
LONGEST = 60_000
"""The highest latency that the panel sets, in milliseconds."""


class Sandbox:
    """The sandbox's own pages."""

    def __init__(self, address: str) -> None:
        self._address = address

    def faults(self) -> Mapping[str, Mapping[str, Any]] | None:
        """The faults in force, by service; None when the sandbox does not answer."""
        return self._ask("GET", "/_faults")

    def set_faults(self, service: str, faults: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Sets a service's faults, and gives those in force; None when it did not."""
        return self._ask("PUT", f"/_faults/{service}", json.dumps(faults))

    def clear(self) -> bool:
        """Takes all faults away."""
        return self._ask("DELETE", "/_faults") is not None

    def effects(self) -> Mapping[str, int]:
        """How many effects each service's ledger has."""
        return {service: len(self._ask("GET", f"/_ledger/{service}") or ()) for service in SERVICES}

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()


class FaultsForm(forms.Form):
    """What one service does wrong. Shares are in percent."""

    down = forms.BooleanField(label=gettext_lazy("Down"), required=False)
    latency = forms.IntegerField(label=gettext_lazy("Latency, ms"), min_value=0, max_value=LONGEST)
    errors = forms.IntegerField(label=gettext_lazy("Errors, %"), min_value=0, max_value=100)
    hangs = forms.IntegerField(label=gettext_lazy("Hangs, %"), min_value=0, max_value=100)
    lost = forms.IntegerField(label=gettext_lazy("Lost replies, %"), min_value=0, max_value=100)
    refusals = forms.IntegerField(label=gettext_lazy("Refusals, %"), min_value=0, max_value=100)

    def __init__(self, *args: Any, service: str, **options: Any) -> None:
        super().__init__(*args, auto_id=f"{service}-%s", label_suffix="", **options)
        self.service = service
        for field in self.fields.values():
            if isinstance(field.widget, forms.NumberInput):
                field.widget.attrs["class"] = "input"

    @staticmethod
    def shown(faults: Mapping[str, Any]) -> dict[str, Any]:
        """The sandbox's faults as the form shows them."""
        shares = {
            "errors": "error_rate",
            "hangs": "hang_rate",
            "lost": "lost_reply_rate",
            "refusals": "refuse_rate",
        }
        return {
            "down": faults["down"],
            "latency": round(faults["latency_ms"][1]),
            **{name: round(faults[rate] * 100) for name, rate in shares.items()},
        }

    @property
    def in_force(self) -> list[tuple[str, str]]:
        """Each field's label with its value in words, for those who may only look."""
        told = []
        for name, field in self.fields.items():
            value = self.initial[name]
            word = str(value) if not isinstance(value, bool) else _("yes") if value else _("no")
            told.append((str(field.label), word))
        return told

    @property
    def faults(self) -> dict[str, Any]:
        """What a valid form asks of the sandbox."""
        said = self.cleaned_data
        return {
            "down": said["down"],
            "latency_ms": [0, said["latency"]],
            "error_rate": said["errors"] / 100,
            "hang_rate": said["hangs"] / 100,
            "lost_reply_rate": said["lost"] / 100,
            "refuse_rate": said["refusals"] / 100,
        }


def _in_development(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Hides a view unless DEBUG is on and the sandbox answers; the view gets the sandbox and its faults."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        sandbox = Sandbox(settings.CONFIG.sandbox_bind)
        faults = sandbox.faults() if settings.DEBUG else None
        if faults is None:
            raise Http404
        return view(request, sandbox, faults, **kwargs)

    return guarded


@page
@_in_development
def show(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any]) -> HttpResponse:
    """The panel. Everybody of the console can watch; administrators have the buttons."""
    var_dir = settings.CONFIG.var_dir
    context = {
        "forms": [
            FaultsForm(initial=FaultsForm.shown(faults[service]), service=service) for service in SERVICES
        ],
        "workers": {role: len(living.pids_of(role, var_dir=var_dir)) for role in living.KILLABLE},
        "effects": sandbox.effects(),
        "orders": {"queued": count_queued()} | recent_counts(now=now(), within=timedelta(hours=1)),
    }
    return render(request, "console/chaos.html", context)


@act(ADMINISTER)
@_in_development
def set_faults(
    request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], *, service: str
) -> HttpResponse:
    """Sets what one service does wrong."""
    if service not in SERVICES:
        raise Http404
    form = FaultsForm(request.POST, service=service)
    if not form.is_valid():
        messages.error(request, _("Shares are whole numbers from 0 to 100; latency is at most 60,000 ms."))
    elif (after := sandbox.set_faults(service, form.faults)) is not None:
        audit.record(
            actor=actor(request), act="chaos-faults", target=service, before=faults[service], after=after
        )
        messages.success(request, _("Set for %(service)s.") % {"service": service})
    else:
        messages.error(request, _("The sandbox did not take it."))
    return redirect("console:chaos")


@act(ADMINISTER)
@_in_development
def clear(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any]) -> HttpResponse:
    """Takes all faults away."""
    sandbox.clear()
    audit.record(actor=actor(request), act="chaos-clear", before=faults, after=sandbox.faults())
    messages.success(request, _("All services are well again."))
    return redirect("console:chaos")


@act(ADMINISTER)
@_in_development
def kill(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], *, role: str) -> HttpResponse:
    """Kills one process of a role, as `kill -9` does."""
    if role not in living.KILLABLE:
        raise Http404
    pid = living.kill_one(role, var_dir=settings.CONFIG.var_dir)
    said = f"killed process {pid}" if pid else "no process found"
    audit.record(actor=actor(request), act="chaos-kill", target=role, said=said)
    if pid:
        messages.success(request, _("Killed process %(pid)s of %(role)s.") % {"pid": pid, "role": role})
    else:
        messages.error(request, _("There is no process of %(role)s here.") % {"role": role})
    return redirect("console:chaos")
