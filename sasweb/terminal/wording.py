"""How orders and changes are shown to people, in one line or in several."""

from collections.abc import Mapping
from typing import Any

BEHIND = ("not_started", "completed", "skipped", "compensated")
"""States of steps about which there is nothing to say in one line."""


def order_line(order: Mapping[str, Any]) -> str:
    """Where an order stands, in one line."""
    parts = [order["state"]]
    steps = order.get("steps", [])
    if steps:
        done = sum(step["state"] == "completed" for step in steps)
        parts.append(f"{done} of {len(steps)} steps completed")
    parts += [_step(step) for step in steps if step["state"] not in BEHIND]
    if order["goal"] == "compensate" and order["state"] != "compensated":
        parts.append("being cancelled")
    parts += _waiting(order) + _failure(order)
    names = [order["id"], order.get("number", ""), ", ".join(parts)]  # servers from before have no numbers
    return "  ".join(filter(None, names))


def order_lines(order: Mapping[str, Any]) -> str:
    """All that a person wants to know of an order. Amounts are as the API has them, in the smallest unit."""
    total = order["total"]
    rows = {
        "order": order["id"],
        "number": order.get("number", ""),
        "title": order["title"],
        "reference": order["reference"],
        "state": ", ".join([order["state"], *_waiting(order), *_failure(order)]),
        "goal": order["goal"],
        "placed": order["placed_at"],
        "changed": order["updated_at"],
        "total": f"{total['amount']} {total['currency']} in the smallest unit" if total else "",
        "steps": "\n           ".join(_step(step) for step in order["steps"]),
    }
    return "\n".join(f"{name:<10} {value}" for name, value in rows.items() if value)


def change_line(change: Mapping[str, Any]) -> str:
    """What happened to an order, in one line."""
    parts = [change["at"], change["order_id"], change["kind"]]
    if change["step"]:
        parts.append(
            f"{change['step']} (attempt {change['attempt']})" if change["attempt"] else change["step"]
        )
    parts += _failure(change)
    parts += [change["reason"]] if change.get("reason") else []
    return "  ".join(parts)


def _step(step: Mapping[str, Any]) -> str:
    error = f" ({step['error']['code']})" if step.get("error") else ""
    return f"{step['name']} {step['state']}{error}"


def _waiting(order: Mapping[str, Any]) -> list[str]:
    """Whom or what it waits for."""
    if not order["waiting_for"]:
        return []
    ending = f" until {order['waiting_until']}" if order["waiting_until"] else ""
    return [f"waiting for {order['waiting_for']}{ending}"]


def _failure(thing: Mapping[str, Any]) -> list[str]:
    error = thing.get("error")
    return [f"{error['code']}: {error['message']}"] if error else []
