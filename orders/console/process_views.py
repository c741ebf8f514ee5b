"""The processes of each role."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.guards import page
from orders.selectors.database_clock import now
from orders.selectors.desk.processes import read_roles
from orders.wording.processes import show_roles


@page
def show_processes(request: HttpRequest) -> HttpResponse:
    """Shows the processes of each role, and what is missing or silent."""
    shown = show_roles(read_roles(now=now()))
    release = settings.SPECTACULAR_SETTINGS["VERSION"]
    return render(request, "console/processes/list.html", {"roles": shown, "release": release})
