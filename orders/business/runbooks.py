"""What operators read about an error's code: what it means, what the system does by itself, and what they can do. Pure.

A business declares those of the codes that its own agents raise, and its remote services answer with:

    runbooks = {"out_of_flour": Runbook(means="…", does="…", todo="…", advises=Advice.EDIT)}
"""

from dataclasses import dataclass
from enum import StrEnum


class Advice(StrEnum):
    """The act on an order that a runbook advises. `SETTLE`: find out at the service what was done, and record it."""

    RESUBMIT = "resubmit"
    EDIT = "edit"
    SETTLE = "settle"
    CANCEL = "cancel"


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """Three short texts in English, each of whole sentences: what a code means, what happens by itself, what to do.

    `advises` is the act that the last one names first; resubmitting alone does not help unless it is that.
    """

    means: str
    does: str
    todo: str
    advises: Advice = Advice.RESUBMIT
