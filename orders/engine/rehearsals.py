"""What an agent would send, shown to people before it is sent. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from typing import Any, NamedTuple, Protocol

from orders.engine.contracts import Agent, Request

EMAIL = "EMAIL"
"""The method of a message that is an email."""
_FOLLOWS_FROM_THE_BODY = "content-length"


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message to a remote service as it would be sent: an HTTP request or, with the method `EMAIL`, an email.

    `url` and `headers` hold no secrets: the headers in `masked` have their value hidden. `body` is what would be sent,
    without them as well; that of an email is the whole of it.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    masked: Sequence[str] = ()

    @property
    def is_email(self) -> bool:
        """Whether it is an email."""
        return self.method == EMAIL

    @property
    def header_lines(self) -> str:
        """The headers, each on a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.headers.items())

    @property
    def text(self) -> str:
        """The body as people read it: JSON on several lines, and the text of an email, whose headers are listed
        already."""
        value = body_value(self)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What an agent would send for a request. Only the first `call`: what follows may depend on the answer to it.

    Without a call, `ending` says how the request would end. `inquiry` is how the service is asked what has become of
    the request, if it can be.
    """

    call: Outgoing | None
    inquiry: Outgoing | None = None
    ending: str = ""


class RehearsingAgent(Agent, Protocol):
    """An agent that can show what it would send, so that an operator sees it before she resubmits an order."""

    async def rehearse(self, request: Request) -> Rehearsal:
        """Says what `perform` would send, or `compensate` if the request `compensates`.

        It sends nothing and changes nothing, here or there. An agent whose calls all go through `Remote` and
        `SmtpRemote` leaves it to `orders.agents.rehearse`, which runs the very method that would send.
        """


class Difference(NamedTuple):
    """A part of a message that differs between two of them; empty where it is missing."""

    name: str
    before: str
    after: str


def differences(before: Outgoing, after: Outgoing) -> list[Difference]:
    """Says what differs: the method, the url, each header, and each field of a JSON body."""
    old, new = dict(_parts(before)), dict(_parts(after))
    return [
        Difference(name, old.get(name, ""), new.get(name, ""))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _parts(message: Outgoing) -> Iterator[tuple[str, str]]:
    yield "Method", message.method
    yield "URL", message.url
    for name, value in message.headers.items():
        if name.lower() != _FOLLOWS_FROM_THE_BODY:
            yield name, value
    yield from _fields("", body_value(message))


def body_value(message: Outgoing) -> Any:
    """The value of a JSON body, and the text of any other."""
    if message.is_email:
        email = message_from_bytes(message.body, policy=policy.default)
        part = email.get_body(("plain", "html"))
        return "" if part is None else str(part.get_content()).replace("\r\n", "\n")
    text = message.body.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """The innermost fields of a body, by their paths."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value, 1)
        for name, inner in items:
            yield from _fields(f"{path}.{name}" if path else f"{name}", inner)
    else:
        yield path or "Body", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
