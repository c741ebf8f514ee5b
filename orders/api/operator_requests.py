"""What operators send to the API."""

from rest_framework import serializers

from orders.api.fields import Note, Prose, Strict, Switch, Text, Whole
from orders.services.answers import LONGEST_NOTE
from orders.services.operators import alerts

LEAVE_OUT_BUSY = "Leaves out the orders of another bulk action that has not ended. `count` is without them."


class ActIn(Strict):
    """What comes with an act."""

    may_be_left_out = True


class ReasonIn(ActIn):
    """Why, for the audit log. Optional."""

    reason = Text(max_length=200, default="")


class NeededReasonIn(ActIn):
    """Why, for the audit log. Required."""

    reason = Text(max_length=200)


class NoteIn(ActIn):
    """What the next operator should know."""

    text = Note(max_length=alerts.LONGEST_NOTE)


class CompensationIn(NeededReasonIn):
    """`confirm` is the word `cancel`, or the order's total, such as `39.00`, if money goes back to the customer."""

    confirm = Text(max_length=40, default="", source="typed")


class DecisionIn(ActIn):
    """A choice. One that has the order compensated needs a note and, as `confirm`, what a compensation needs."""

    choice = Text(max_length=200)
    note = Prose(max_length=LONGEST_NOTE, default="")
    confirm = Text(max_length=40, default="", source="typed")


class EventIn(ActIn):
    """What came with an outside event: a JSON object with the fields that the workflow declares, if it declares any."""

    result = serializers.DictField()


class GroupResubmissionIn(ReasonIn):
    """`count` confirms how many orders are resubmitted. It is required for more than 50, and must be right."""

    count = Whole(min_value=1, max_value=1_000_000, required=False)
    leave_out_busy = Switch(default=False, help_text=LEAVE_OUT_BUSY)
