"""How many orders are in each state at this moment, for who watches the system recover."""

from collections.abc import Mapping
from datetime import timedelta

from django.db.models import Count
from django.db.models.functions import Now

from orders.models import OrderProcess, SubmissionMessage
from orders.vocabulary import ProcessState

UNFINISHED = (ProcessState.PENDING, ProcessState.PROCESSING, ProcessState.ERROR)
RECENT = timedelta(hours=1)


def by_state() -> Mapping[str, int]:
    """Orders by state: queued, those that are not finished, and those that were finished within the last hour."""
    unfinished = OrderProcess.objects.filter(process_state__in=UNFINISHED)
    finished = OrderProcess.objects.filter(finished_at__gt=Now() - RECENT)
    counted = {"queued": SubmissionMessage.objects.count()} | dict.fromkeys(map(str, ProcessState), 0)
    for orders in (finished, unfinished):
        found = orders.order_by().values_list("process_state").annotate(number=Count("*"))
        counted |= {str(state): number for state, number in found}
    return counted
