"""Template tags of the operator console, which is in English. Only `status_bar` reads the database.

{% ago moment %}                  "12 seconds ago", with the exact time on the element; "–" for None
{% clock moment %}                "14:02:31"
{% pill "bad" "error" text %}     a status: colour, icon and word
{% standing order.standing %}     the pill of an `orders.selectors.desk.standing.Standing` or of its kind
{% order_state process_state %}   the pill of an order's state as it is stored
{% step_state step.state %}       the pill of a step's state as it is stored
{% circuit_state state %}         the pill of a circuit;  {% forced_circuit state %} of one that is forced
{{ path|pieces }}                 a path or an email address that breaks before / and @, elsewhere only if it must
{{ order_id|short_id }}           the number and the end of the id in monospace, with the whole id as their title
{{ order_id|order_number }}       the number, as people say it
{% bulk_state state %}            the pill of a bulk action;  {% bulk_item_state state %} of one of its orders
{% approval_state state %}         the pill of a request for approval
{{ kind|bulk_kind }}              "Resubmit";  {{ kind|alert_kind:code }} "a step failed for good"
{{ act|act_label }}               "create token", of an act in the audit log
{{ kind|alert_text:message }}     an alert's message, which says so if it is of a compensation
{{ kind|alert_heading:message }}  the same as a heading: in quotation marks if a step failed with it
{{ message|shortened }}           a long text, and how many characters are left out
{{ state|state_word }}            the label of an order's state as it is stored
{{ kind|standing_word }}          the label of where an order can stand
{{ standing|beside_pill }}        what the pill of an order that is being cancelled does not say: "retrying"
{{ outcome|outcome_word }}        what is known of a step's effect
{{ step.inquiry|finding }}        what a remote service said of a call's outcome: "it was not"
{{ standing|next_try }}           the number of the try that is next or under way
{{ amount|money:currency }}       minor units as "€39.00"
{{ process|held }}                "12 of 200 calls under way"
{{ count|number }}                1,234;  {{ count|bounded }} 10,000+ for what was counted no further
{{ seconds|duration }}            "3 min 20 s"
{% status_bar as status %}        open alerts and decisions, late supervisor (orders.selectors.desk.status_bar)
"""

import re
from datetime import datetime, timedelta
from uuid import UUID

from babel.dates import format_datetime
from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.outbox import MessageRow
from orders.selectors.desk.processes import Process
from orders.selectors.desk.standing import Standing
from orders.selectors.desk.status_bar import StatusBar, read_status_bar
from orders.templatetags.pages import icon as icon_of
from orders.wording import acts, alert_words, skipped_messages, standings, units
from orders.wording.events import finding_text, shorten
from orders.wording.processes import held_by
from orders.wording.standings import STANDINGS, standing_pill
from orders.wording.state_labels import (
    APPROVAL_STATES,
    BULK_ITEM_STATES,
    BULK_KINDS,
    BULK_STATES,
    CIRCUIT_STATES,
    FORCED_CIRCUITS,
    MESSAGE_KINDS,
    MESSAGE_STATES,
    ORDER_STATES,
    OUTCOMES,
    STEP_STATES,
    Pill,
    pill_of,
)

register = template.Library()


@register.simple_tag
def ago(at: datetime | None) -> SafeString:
    """A moment by its distance from now: "12 seconds ago", "in 2 minutes". The element has the exact time.

    `data-past` marks a moment that has come: a browser whose clock is late must not show it as "in 1 second".
    """
    if at is None:
        return SafeString(units.DASH)
    away = at - timezone.now()
    exact = format_datetime(at, "medium", tzinfo=timezone.get_current_timezone(), locale=units.ENGLISH)
    return format_html(
        '<time datetime="{}" title="{} {}" data-ago{}>{}</time>',
        at.isoformat(),
        exact,
        timezone.get_current_timezone_name(),
        " data-past" if away <= timedelta() else "",
        units.nearest_relative(away),
    )


@register.simple_tag
def clock(at: datetime) -> SafeString:
    """The time of day of a moment to the second, by which moments of the same minute differ: "14:02:31"."""
    local = timezone.localtime(at)
    return format_html('<time datetime="{}" data-clock>{}</time>', at.isoformat(), f"{local:%H:%M:%S}")


@register.simple_tag
def minute_of(at: datetime) -> SafeString:
    """The time of day of a moment to the minute, with the date if that is another day: "14:02", "Nov 28, 14:02"."""
    local = timezone.localtime(at)
    day = "" if local.date() == timezone.localdate() else f"{local:%b} {local.day}, "
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{day}{local:%H:%M} {local:%Z}")


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time in at most two units: "450 ms", "3.2 s", "3 min 20 s", "2 h 5 min"."""
    return units.DASH if seconds is None else units.duration(seconds)


@register.filter
def held(process: Process) -> str:
    """What a process has in hand: "3 orders"; "–" if nothing."""
    return held_by(process) or units.DASH


@register.filter
def number(count: float | None) -> str:
    """A number with separators: "1,234"."""
    return units.DASH if count is None else units.number(count)


@register.filter
def bounded(count: int | None, most: int = MOST_COUNTED) -> str:
    """A number that was counted up to `most` and no further: "10,000+"."""
    return units.DASH if count is None else units.bounded(count, most)


@register.filter
def money(amount: int, currency: str) -> str:
    """An amount in minor units with its currency: "€39.00"."""
    return units.money(Money(amount=amount, currency=currency), locale=units.ENGLISH)


@register.filter
def short_id(order_id: UUID | str) -> SafeString:
    """An order's number, and the end of its id: ids of orders of the same minute begin alike."""
    return format_html(
        '<span class="order-name" title="{}"><code class="id">{}</code> <code class="id quiet">{}</code></span>',
        *(order_id, order_number(order_id), str(order_id)[-8:]),
    )


@register.filter
def order_number(order_id: UUID | str) -> str:
    """The number of the order with this id, as people say it."""
    return spoken_number(order_id if isinstance(order_id, UUID) else UUID(order_id))


@register.filter
def pieces(text: str) -> SafeString:
    """A path or an email address, which a narrow column breaks before "/" and "@". Otherwise it would be broken at the
    hyphens of an id, or anywhere."""
    parts = re.findall(r"[/@]?[^/@]+|[/@]", text)
    return format_html_join("", '<span class="piece">{}</span>', ((part,) for part in parts))


@register.simple_tag
def pill(tone: str, icon: str, text: str) -> SafeString:
    """A state as colour, icon and word. `tone` is good, busy, warn, bad or idle."""
    return format_html(
        '<span class="status status--{}">{}<span>{}</span></span>', tone, icon_of(icon, 16), text
    )


def _pill(shown: Pill) -> SafeString:
    return pill(shown.tone, shown.icon, shown.label)


@register.simple_tag
def standing(value: Standing | str) -> SafeString:
    """The pill of where an order or a step stands."""
    if not isinstance(value, Standing):
        return _pill(pill_of(STANDINGS, value))
    return _pill(standing_pill(value))


@register.filter
def beside_pill(value: Standing) -> str:
    """What the pill of an order that is being cancelled does not say: "retrying"."""
    return standings.beside_pill(value)


@register.simple_tag
def order_state(state: str) -> SafeString:
    """The pill of an order's state as it is stored."""
    return _pill(pill_of(ORDER_STATES, state))


@register.simple_tag
def step_state(state: str) -> SafeString:
    """The pill of a step's state as it is stored."""
    return _pill(pill_of(STEP_STATES, state))


@register.simple_tag
def circuit_state(state: str) -> SafeString:
    """The pill of a circuit's state."""
    return _pill(pill_of(CIRCUIT_STATES, state))


@register.simple_tag
def forced_circuit(state: str) -> SafeString:
    """The pill of a circuit that an operator has forced."""
    return _pill(pill_of(FORCED_CIRCUITS, state))


@register.simple_tag
def bulk_state(state: str) -> SafeString:
    """The pill of a bulk action's state."""
    return _pill(pill_of(BULK_STATES, state))


@register.simple_tag
def approval_state(state: str) -> SafeString:
    """The pill of where a request for approval stands."""
    return _pill(pill_of(APPROVAL_STATES, state))


@register.simple_tag
def bulk_item_state(state: str) -> SafeString:
    """The pill of where one order of a bulk action stands."""
    return _pill(pill_of(BULK_ITEM_STATES, state))


@register.filter
def bulk_kind(kind: str) -> str:
    """What a bulk action does: "Resubmit"."""
    return BULK_KINDS.get(kind, kind)


@register.simple_tag
def message_state(state: str) -> SafeString:
    """The pill of where an outgoing message stands."""
    return _pill(pill_of(MESSAGE_STATES, state))


@register.filter
def message_kind(kind: str) -> str:
    """What an outgoing message is about: "order link"."""
    return MESSAGE_KINDS.get(kind, kind)


@register.filter
def why_skipped(message: MessageRow) -> str:
    """Why an outgoing message was skipped, as a sentence."""
    return skipped_messages.why_skipped(
        kind=message.kind, channel=message.channel, reason=message.skipped_because
    )


@register.filter
def act_label(act: str) -> str:
    """The name of an act in the audit log, verb first: "create token"."""
    return acts.act_label(act)


@register.filter
def alert_kind(kind: str, code: str) -> str:
    """What kind of thing an alert is about."""
    return alert_words.alert_title(kind, code)


@register.filter
def alert_text(kind: str, message: str) -> str:
    """An alert's message, which says so if it is about a compensation."""
    return alert_words.alert_text(kind, message)


@register.filter
def alert_heading(kind: str, message: str) -> str:
    """An alert's message as a heading, in quotation marks if a step failed with it."""
    return alert_words.alert_heading(kind, message)


@register.filter
def pattern_text(pattern: str) -> str:
    """What a cause's pattern says, without the clauses that say "…"."""
    return alert_words.pattern_text(pattern)


@register.filter
def shortened(text: str) -> str:
    """A text that a remote service wrote, cut where the order's history cuts it too."""
    return shorten(text)


@register.filter
def state_word(state: str) -> str:
    """The label of an order's state."""
    return pill_of(ORDER_STATES, state).label


@register.filter
def standing_word(kind: str) -> str:
    """The label of where an order can stand."""
    return pill_of(STANDINGS, kind).label


@register.filter
def outcome_word(outcome: str) -> str:
    """What is known of a step's effect."""
    return OUTCOMES.get(outcome, outcome)


@register.filter
def finding(inquiry: EventFacts) -> str:
    """What a remote service answered when it was asked what had become of a call: "it was not"."""
    return finding_text(inquiry.detail)


@register.filter
def next_try(standing: Standing) -> int:
    """The number of the try that is next or under way."""
    return standing.failures + 1


@register.simple_tag
def status_bar() -> StatusBar:
    """The counts and warnings at the edge of every page. It is the only one of these tags that reads the database."""
    return read_status_bar()
