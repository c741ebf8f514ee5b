"""The processes of each role."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.guards import page
from orders.selectors.database_clock import now
from orders.selectors.desk.processes import read_roles
from orders.wording.processes import release_sentences, show_roles


@page
def show_processes(request: HttpRequest) -> HttpResponse:
    """Shows the processes of each role, and what is missing or silent."""
    roles = read_roles(now=now())
    context = {
        "roles": show_roles(roles),
        "release": settings.CONFIG.release,
        "old_releases": release_sentences(roles),
    }
    return render(request, "console/processes/list.html", context)
