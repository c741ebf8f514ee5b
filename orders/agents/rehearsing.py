"""Rehearsals: an agent runs the method that would send, and its transport keeps the message in place of sending it.

So what is shown cannot drift from what is sent. While `rehearse` runs, `Remote` and `SmtpRemote` send nothing.
"""

from collections.abc import Awaitable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from orders.agents.exchange import MASKED, is_secret
from orders.engine.contracts import Agent, InquiringAgent, Request
from orders.engine.errors import Fault
from orders.engine.rehearsals import Outgoing, Rehearsal


class Held(BaseException):
    """Raised in place of sending a message, which it carries as it would have been sent. Not an `Exception`, so that an
    agent that handles errors does not take it for one."""

    def __init__(self, *, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__("held back: this is a rehearsal")
        self.method, self.url, self.headers, self.body = method, url, headers, body


class _Stage:
    """What a rehearsal has seen."""

    def __init__(self) -> None:
        self.first: Outgoing | None = None


_stage: ContextVar[_Stage | None] = ContextVar("rehearsal", default=None)


def is_rehearsal() -> bool:
    """Whether what is sent now is to be held back."""
    return _stage.get() is not None


def show(held: Held, *, secrets: Iterable[str]) -> None:
    """Shows a message that was held back. `secrets` are cut out of it, and secret headers masked."""
    stage = _stage.get()
    if stage is not None and stage.first is None:
        stage.first = _masked(held, [secret for secret in secrets if secret])


async def rehearse(agent: Agent, request: Request) -> Rehearsal:
    """Says what the agent would send for a request, and sends nothing. For agents whose calls all go through `Remote`
    and `SmtpRemote`."""
    call, ending = await _first_message(
        agent.compensate(request) if request.compensates else agent.perform(request)
    )
    inquiry = None
    if hasattr(agent, "inquire"):
        inquiry, _ = await _first_message(cast(InquiringAgent, agent).inquire(request))
    return Rehearsal(call=call, inquiry=inquiry, ending=ending)


async def _first_message(work: Awaitable[Any]) -> tuple[Outgoing | None, str]:
    """The first message that the work would send; or None, and how it ends without one."""
    stage = _Stage()
    token = _stage.set(stage)
    ending = "It is done without a call."
    try:
        await work
    except Fault as fault:
        ending = f"It fails without a call: {fault.code}: {fault.message}"
    except (Held, Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - an agent may raise anything
        ending = f"It fails without a call: {type(error).__name__}: {error}"
    finally:
        _stage.reset(token)
    return (stage.first, "") if stage.first else (None, ending)


def _masked(held: Held, secrets: Iterable[str]) -> Outgoing:
    masked = sorted((name for name in held.headers if is_secret(name)), key=str.lower)
    headers = {
        name: MASKED if name in masked else without(value, secrets) for name, value in held.headers.items()
    }
    return Outgoing(
        method=held.method,
        url=_without_query_secrets(without(held.url, secrets)),
        headers=headers,
        body=without(held.body.decode(errors="surrogateescape"), secrets).encode(errors="surrogateescape"),
        masked=masked,
    )


def without(text: str, secrets: Iterable[str]) -> str:
    """The text with secrets masked, also where they are quoted as in a url."""
    for secret in secrets:
        for written in {secret, quote(secret, safe="")}:
            text = text.replace(written, MASKED)
    return text


def _without_query_secrets(url: str) -> str:
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    if not any(is_secret(name) for name, _ in query):
        return url
    shown = [(name, MASKED if is_secret(name) else value) for name, value in query]
    return urlsplit(url)._replace(query=urlencode(shown, safe="()")).geturl()
