"""How the system is: the overview, the agents, the supervisor and the workflow."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.access import page


@page
def show_overview(request: HttpRequest) -> HttpResponse:
    """Is it all right?"""
    return render(request, "console/overview.html")


@page
def show_supervisor(request: HttpRequest) -> HttpResponse:
    """Who leads, and what the last sweeps found."""
    return render(request, "console/supervisor.html")
