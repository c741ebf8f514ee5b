"""What operators send to the API about who owns a cause, its snooze, ticket and runbook, and about hand-overs."""

from typing import Any

from rest_framework import serializers

from orders.api.fields import Moment, Note, OneLine, OrderCursor, Prose, Strict, Text, Whole
from orders.api.operator_requests import ActIn, ReasonIn
from orders.api.paging import CURSOR_HELP, PageQuery, Query
from orders.api.webhook_requests import Time
from orders.services.operators import handover, runbooks
from orders.services.operators.causes import LONGEST_TICKET_URL
from orders.services.operators.snoozes import MOST_GROWTH

LONGEST_ACCOUNT = 150


class Yes(serializers.BooleanField):
    """true or false, and nothing that could be taken for it."""

    default_error_messages = {"invalid": "This must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if data is not True and data is not False:
            self.fail("invalid")
        return bool(data)


class AssignmentIn(ReasonIn):
    """The account that is to own the group; empty for nobody. With `expected`, only if that account owns it now."""

    owner = OneLine(max_length=LONGEST_ACCOUNT)
    expected = OneLine(max_length=LONGEST_ACCOUNT, required=False)


class SnoozeIn(ReasonIn):
    """Until a time, until `grows_by` more alerts are open, or until they have doubled: whatever comes first."""

    until = Time(required=False)
    grows_by = Whole(min_value=1, max_value=MOST_GROWTH, required=False)
    doubles = Yes(default=False)


class TicketIn(ReasonIn):
    """The https:// url of a ticket; empty for none. With `expected`, only if that is the url now."""

    url = OneLine(max_length=LONGEST_TICKET_URL)
    expected = OneLine(max_length=LONGEST_TICKET_URL, required=False)


class RunbookIn(ActIn):
    """What this installation says about a code; empty for nothing. With `expected`, only if that is the text now."""

    text = Prose(max_length=runbooks.LONGEST)
    expected = Prose(max_length=runbooks.LONGEST, required=False)


class HandoverNoteIn(Strict):
    """What the next shift should know, and since when the shift that ends has lasted."""

    text = Note(max_length=handover.LONGEST_NOTE)
    since = Time(required=False)


class SendingIn(Strict):
    """Since when, and the account that it is sent to; without one it is sent to the alerts' address."""

    since = Time()
    to = Text(max_length=LONGEST_ACCOUNT, default="")


class HandoverQuery(Query):
    """Selects the time that a hand-over is about, which ends now."""

    since = Moment(default=None, help_text="Since this time, at most 7 days ago. The default is 8 hours ago.")


class CauseHistoryQuery(PageQuery):
    """Selects times that causes were open."""

    since = Moment(
        default=None, help_text="Only those that were open at this time or later; 7 days ago by default."
    )
    until = Moment(default=None, help_text="Only those that began before this time.")
    cursor = OrderCursor(default=None, help_text=CURSOR_HELP)
