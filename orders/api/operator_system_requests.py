"""What operators send to the API about agents, the outbox and the audit log."""

from orders.api.fields import Choice, Flag, Moment, Number, NumberCursor, OneLine, Whole
from orders.api.operator_requests import NeededReasonIn
from orders.api.paging import CURSOR_HELP, PageQuery
from orders.selectors.desk.audit import TARGETS
from orders.services.operators.agents import HIGHEST_CAPACITY, HIGHEST_RATE, LONGEST_FORCE, LOWEST_RATE
from orders.vocabulary import CircuitState, MessageState


class ForceIn(NeededReasonIn):
    """`open` sends nothing to the agent, `closed` sends everything, for so many seconds, at most a day."""

    state = Choice([CircuitState.OPEN.value, CircuitState.CLOSED.value])
    seconds = Whole(min_value=1, max_value=int(LONGEST_FORCE))


class LimitIn(NeededReasonIn):
    """How many calls a second an agent is sent at most, and how many requests at once; null leaves that to it."""

    rate = Number(min_value=LOWEST_RATE, max_value=HIGHEST_RATE, allow_null=True)
    capacity = Whole(min_value=1, max_value=HIGHEST_CAPACITY, allow_null=True)


class OutboxQuery(PageQuery):
    """Selects messages of the outbox."""

    state = Choice(
        ["waiting", *MessageState],
        default="",
        help_text="Only messages in this state; `waiting` is for those that are `queued` or `sending`.",
    )
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


class AuditQuery(PageQuery):
    """Selects entries of the audit log. Of several conditions, all must be met."""

    actor = OneLine(default="", max_length=120, help_text="Only acts of people whose name has this part.")
    act = OneLine(default="", max_length=40, help_text="Only this act, as an entry's `act` names it.")
    target = OneLine(default="", max_length=120, help_text="Only acts on what has this part in its name.")
    kind = Choice(
        list(TARGETS), default="", help_text="Only acts on what is of this kind; `account` for accounts."
    )
    allowed = Flag(
        default=None,
        help_text="Only acts that were allowed, or only those that were refused.",
    )
    since = Moment(default=None, help_text="Only acts at this time or later.")
    until = Moment(default=None, help_text="Only acts before this time.")
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)
