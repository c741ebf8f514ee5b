"""What operators read about an error's code: what it means, what the system does by itself, and what they can do. Pure.

A business declares those of the codes that its own agents raise, and its remote services answer with:

    runbooks = {"out_of_flour": Runbook(means="…", does="…", todo="…")}
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Runbook:
    """Three short texts in English, each of whole sentences: what a code means, what happens by itself, what to do."""

    means: str
    does: str
    todo: str
