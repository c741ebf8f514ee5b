"""Lists a remote service's effects over HTTP: `GET effects?since=TIME&after=CURSOR`, a page at a time.

The answer is `{"effects": [{"key", "operation", "at", "reversed"}], "next": CURSOR or null}`, oldest first. A page must
fit into `transport.LARGEST_ANSWER`.
"""

from datetime import datetime
from typing import Any

from orders.agents.transport import Remote
from orders.engine.contracts import Effect, EffectPage
from orders.engine.errors import Unresolved


async def list_effects(remote: Remote, *, since: datetime, after: str) -> EffectPage:
    """Asks for one page. Raises a `Fault` if that fails, `Unresolved` if the answer is not a page."""
    answer = await remote.get("effects", since=since.isoformat(), after=after)
    effects, following = answer.get("effects"), answer.get("next")
    try:
        if not isinstance(effects, list) or not isinstance(following, str | None):
            raise TypeError("no list of effects, or a next that is not a text")
        return EffectPage(effects=[_effect(entry) for entry in effects], following=following or "")
    except (KeyError, TypeError, ValueError) as error:
        raise Unresolved("bad_answer", f"the answer is not a page of effects: {error}") from error


def _effect(entry: dict[str, Any]) -> Effect:
    """One effect. Raises `KeyError`, `TypeError` or `ValueError` if it is not one."""
    at = datetime.fromisoformat(entry["at"])
    if at.tzinfo is None:
        raise ValueError("a time has no time zone")
    if not isinstance(entry["reversed"], bool):
        raise TypeError("reversed is not true or false")
    return Effect(
        key=str(entry["key"]), operation=str(entry["operation"]), at=at, is_reversed=entry["reversed"]
    )
