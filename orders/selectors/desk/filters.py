"""The filter of the list of orders, as it is written in an address: read, written and said in words. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.utils.translation import gettext as _

from orders.selectors.desk.standing import Kind
from orders.vocabulary import ProcessState

LEAST_PART = 4
"""Digits that a part of an order's id has at least; eight, to be looked for at the beginning too."""
LONGEST = 254
NOTHING_DONE = "1"

_AGE = re.compile(r"(\d{1,5})\s*(s|m|min|h|d)")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, kw_only=True)
class OrderFilter:
    """Which orders are wanted; an empty field wants all. `problems` has a sentence for each that makes no sense.

    `step` and `agent` are of a step that is under way, waits or failed; `code` is of the order's open alert; `waiting`
    is an agent that a step of theirs waits for, or `1`: all for which nothing is done now; `older` is an age as in
    90s, 30m, 2h, 3d. `q` is an order's id, a part of its end or its beginning, or a mail address. A filter with a
    problem matches nothing.
    """

    q: str = ""
    state: str = ""
    kind: str = ""
    step: str = ""
    agent: str = ""
    code: str = ""
    waiting: str = ""
    older: str = ""
    priority: str = ""
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def query(self) -> str:
        """It as the query of an address, without what is not asked."""
        return urlencode({name: getattr(self, name) for name in NAMES if getattr(self, name)})

    @property
    def is_empty(self) -> bool:
        """Whether it wants every order."""
        return not self.query

    @property
    def age(self) -> timedelta | None:
        """What `older` says."""
        found = _AGE.fullmatch(self.older)
        return timedelta(seconds=int(found[1]) * _UNITS[found[2]]) if found else None

    @property
    def digits(self) -> str:
        """The hexadecimal digits of `q`; empty when it is no id, nor a part of one."""
        digits = self.q.lower().replace("-", "")
        is_id = LEAST_PART <= len(digits) <= 32 and re.fullmatch(r"[0-9a-f]+", digits)
        return digits if is_id else ""

    @property
    def order_id(self) -> UUID | None:
        """The order that `q` names in full."""
        return UUID(self.digits) if len(self.digits) == 32 else None

    @property
    def email(self) -> str:
        """The mail address that `q` is."""
        return self.q if "@" in self.q else ""


NAMES = tuple(one.name for one in fields(OrderFilter) if one.name != "problems")


def read_filter(asked: Mapping[str, str]) -> OrderFilter:
    """The filter of an address's query; what is not known to it is left out."""
    told = {name: asked.get(name, "").strip()[:LONGEST].replace("\x00", "") for name in NAMES}
    wanted = OrderFilter(**told)
    problems = []
    if wanted.state and wanted.state not in list(ProcessState):
        problems.append(_("There is no state %(state)s.") % {"state": wanted.state})
    if wanted.kind and wanted.kind not in list(Kind):
        problems.append(_("No order stands at %(kind)s.") % {"kind": wanted.kind})
    if wanted.older and wanted.age is None:
        problems.append(_("An age is a number with s, m, h or d, as in 30m or 2h."))
    if wanted.priority and not re.fullmatch("[0-9]", wanted.priority):
        problems.append(_("A priority is from 0 to 9."))
    if wanted.q and not wanted.digits and not wanted.email:
        problems.append(_("Search for a mail address, an order id, or at least four digits of its end."))
    return OrderFilter(**told, problems=tuple(problems))


def in_words(wanted: OrderFilter) -> str:
    """Which orders it wants, for people: "orders in state error, at step create-shipment"."""
    said = {
        "q": _("found by %(value)s"),
        "state": _("in state %(value)s"),
        "kind": _("that stand at %(value)s"),
        "step": _("at step %(value)s"),
        "agent": _("at agent %(value)s"),
        "code": _("with an open alert %(value)s"),
        "older": _("older than %(value)s"),
        "priority": _("of priority %(value)s"),
    }
    parts = [
        words % {"value": getattr(wanted, name)} for name, words in said.items() if getattr(wanted, name)
    ]
    if wanted.waiting == NOTHING_DONE:
        parts.append(_("that wait"))
    elif wanted.waiting:
        parts.append(_("that wait for %(agent)s") % {"agent": wanted.waiting})
    return _("orders %(which)s") % {"which": ", ".join(parts)} if parts else _("all orders")
