"""Reversing what a step may have done, on its order's way forward, so that it can ask for something else. Pure.

A step whose outcome is unknown cannot ask for something else: under its old key the remote service would see another
body, and under a new one the effect could happen twice. So its present generation is compensated first. Once the remote
service has said that nothing of it stands, the step takes its next generation, with its next request.
"""

from datetime import datetime, timedelta

from orders.engine.contracts import Compensation, Step


def why_not_reversed(declared: Step, sent_at: datetime | None, now: datetime) -> str:
    """Why what a step may have done cannot be reversed and done anew, in words that follow its name; empty if it can.

    `sent_at` is when its present generation was first dispatched.
    """
    if declared.compensation is not Compensation.REVERSE:
        return "has nothing that reverses it"
    if declared.takes_value or declared.reserves_value:
        return "moves money, and that is not done twice"
    if not can_be_reversed(declared, sent_at, now):
        return f"was sent so long ago that {declared.agent} may no longer know it"
    return ""


def can_be_reversed(declared: Step, sent_at: datetime | None, now: datetime) -> bool:
    """Whether the remote service can still tell which call is to be reversed, so that its word that nothing stands is
    worth another call (P2)."""
    return declared.can_be_asked or recognises(declared, sent_at, now)


def recognises(declared: Step, sent_at: datetime | None, now: datetime) -> bool:
    """Whether the remote service recognises a key that was first sent then, for as long as a call that is sent now may
    take to reach it."""
    if declared.key_retention <= 0:
        return False
    latest_arrival = now + timedelta(seconds=declared.complete_by + declared.settle)
    return sent_at is None or latest_arrival - sent_at <= timedelta(seconds=declared.key_retention)
