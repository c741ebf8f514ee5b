"""The chaos page, for development and drills: makes the sandbox's services fail, kills workers, and shows the system
recover.

It exists only with DEBUG or in a drill, and while the sandbox answers. Its buttons are for administrators.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from orders.access.levels import ADMINISTER
from orders.console import drills
from orders.console.forms.faults import FaultsForm
from orders.console.guards import act, actor, page
from orders.console.sandbox_client import Sandbox
from orders.selectors.database_clock import now
from orders.selectors.desk.drills import START, latest_drills
from orders.selectors.desk.overview import count_queued, recent_counts
from orders.services import audit
from sasweb.launcher import running


def _in_development(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Hides a view outside development and drills, and while the sandbox does not answer. The view gets the sandbox and
    its faults."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        sandbox = Sandbox(settings.CONFIG.sandbox_bind)
        faults = sandbox.faults() if settings.IS_DEMONSTRATION else None
        if faults is None:
            raise Http404
        return view(request, sandbox, faults, **kwargs)

    return guarded


@page
@_in_development
def show(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any]) -> HttpResponse:
    """Shows the page. All operators can watch; administrators have the buttons."""
    return _chaos_page(request, sandbox, faults)


def _chaos_page(
    request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], wrong: FaultsForm | None = None
) -> HttpResponse:
    var_dir = settings.CONFIG.var_dir
    forms = [
        wrong
        if wrong is not None and wrong.service == service
        else FaultsForm(faults=faults[service], service=service)
        for service in faults
    ]
    context = {
        "forms": forms,
        "workers": {role: len(running.pids_of(role, var_dir=var_dir)) for role in running.KILLABLE},
        "effects": sandbox.effects(faults),
        "scenarios": drills.SCENARIOS,
        "drills": [
            (drill, scenario.title if (scenario := drills.find(drill.scenario)) else drill.scenario)
            for drill in latest_drills()
        ],
        "orders": {"queued": count_queued(), **recent_counts(now=now(), within=timedelta(hours=1))},
    }
    return render(request, "console/system/chaos.html", context, status=422 if wrong else 200)


@act(ADMINISTER)
@_in_development
def set_faults(
    request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], *, service: str
) -> HttpResponse:
    """Sets the faults of one service."""
    if service not in faults:
        raise Http404
    form = FaultsForm(request.POST, faults=faults[service], service=service)
    if not form.is_valid():
        return _chaos_page(request, sandbox, faults, form)
    if (after := sandbox.set_faults(service, form.faults)) is not None:
        audit.record(
            actor=actor(request), act="chaos faults", target=service, before=faults[service], after=after
        )
        messages.success(request, f"The faults of {service} have been set.")
    else:
        messages.error(request, "The sandbox did not accept these faults. Check its log.")
    return redirect("console:chaos")


@act(ADMINISTER)
@_in_development
def start_drill(
    request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], *, name: str
) -> HttpResponse:
    """Starts a drill in place of what was before."""
    scenario = drills.find(name)
    if scenario is None:
        raise Http404
    sandbox.clear()
    after = {service: sandbox.set_faults(service, each) for service, each in scenario.faults.items()}
    if None in after.values():
        messages.error(request, "The sandbox did not accept these faults. Check its log.")
        return redirect("console:chaos")
    var_dir = settings.CONFIG.var_dir
    pids = running.pids_of(scenario.kills, var_dir=var_dir) if scenario.kills else []
    killed = [running.kill_one(scenario.kills, var_dir=var_dir) for _ in pids]
    result = f"killed processes {', '.join(map(str, killed))}" if killed else ""
    audit.record(
        actor=actor(request), act=START, target=name, before=faults, after=sandbox.faults(), result=result
    )
    messages.success(request, f"The drill has begun: {scenario.title}. {scenario.task}")
    return redirect("console:chaos")


@act(ADMINISTER)
@_in_development
def clear(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any]) -> HttpResponse:
    """Removes all faults."""
    sandbox.clear()
    audit.record(actor=actor(request), act="chaos clear", before=faults, after=sandbox.faults())
    messages.success(request, "All faults have been removed.")
    return redirect("console:chaos")


@act(ADMINISTER)
@_in_development
def kill(request: HttpRequest, sandbox: Sandbox, faults: Mapping[str, Any], *, role: str) -> HttpResponse:
    """Kills one process of a role, as `kill -9` does."""
    if role not in running.KILLABLE:
        raise Http404
    pid = running.kill_one(role, var_dir=settings.CONFIG.var_dir)
    result = f"killed process {pid}" if pid else "no process found"
    audit.record(actor=actor(request), act="chaos kill", target=role, result=result)
    if pid:
        messages.success(request, f"Killed process {pid} of {role}.")
    else:
        messages.error(request, f"No {role} process is running on this machine.")
    return redirect("console:chaos")
