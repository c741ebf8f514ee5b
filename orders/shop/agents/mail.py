"""Emails to the customer: the confirmation of an order, and the notice that it was cancelled.

Mail servers do not deduplicate, so an email is sent at least once. Its Message-ID is the request's key, so mail
programs and people can recognise a second copy.
"""

from collections.abc import Callable
from typing import Protocol

from orders.agents.rehearsing import rehearse
from orders.agents.smtp import SmtpRemote
from orders.agents.transport import CALL_TIMEOUT, unknown_operation
from orders.engine.contracts import Json, Request
from orders.engine.errors import Refused
from orders.engine.rehearsals import Rehearsal
from orders.shop.letters import (
    NOTHING,
    Enclosures,
    OrderEmail,
    compose_cancellation,
    compose_confirmation,
    read_sender,
)


class Enclosing(Protocol):
    """Finds what belongs in an email beside the request's words. It never fails, and takes no more than seconds."""

    async def enclose(self, request: Request) -> Enclosures: ...

    async def close(self) -> None: ...


class Mail:
    """The agent of the mail server at `url`. `sender` is who emails come from, as in `Shop <orders@shop.example>`, and
    `reply_to` where replies go, if not there.

    `encloser` is asked for each email's link and pictures; without it there are none.
    """

    name = "mail"
    call_timeout = CALL_TIMEOUT
    operations = frozenset({"confirm"})

    def __init__(
        self,
        url: str,
        *,
        sender: str,
        reply_to: str = "",
        encloser: Enclosing | None = None,
        capacity: int = 50,
    ) -> None:
        self.capacity = capacity
        self._remote = SmtpRemote(url, timeout=self.call_timeout)
        self._sender = read_sender(sender, reply_to=reply_to)
        self._encloser = encloser

    async def perform(self, request: Request) -> Json:
        """Sends the confirmation. Raises `Refused` if the mail server does not take it."""
        if request.operation != "confirm":
            raise unknown_operation(request)
        return await self._send(compose_confirmation, request)

    async def compensate(self, request: Request) -> Json:
        """Sends the notice that the order was cancelled."""
        if request.operation != "confirm":
            raise unknown_operation(request)
        return await self._send(compose_cancellation, request)

    async def rehearse(self, request: Request) -> Rehearsal:
        """Shows the email that it would send."""
        return await rehearse(self, request)

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()
        if self._encloser:
            await self._encloser.close()

    async def _send(self, compose: Callable[..., OrderEmail], request: Request) -> Json:
        enclosures = await self._encloser.enclose(request) if self._encloser else NOTHING
        try:
            email = compose(request, sender=self._sender, enclosures=enclosures)
        except ValueError as error:
            raise Refused("bad_mail", str(error)) from error
        await self._remote.send(email.content, sender=self._sender.address, recipient=email.recipient)
        has_link = bool(enclosures.link) or self._encloser is None
        return {"message_id": email.message_id, **({} if has_link else {"has_link": False})}
