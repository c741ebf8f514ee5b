"""The server whose API the command uses: sends requests until they are answered, and reads streams of events."""

import http
import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from typing import Any, NamedTuple

from sasweb.terminal.errors import RefusedError, TerminalError, describe, read_problem
from sasweb.terminal.operations import Operation
from sasweb.terminal.output import note
from sasweb.terminal.patience import LostError, Patience

TIMEOUT = 45.0
"""Seconds without a byte after which an answer counts as lost: longer than a wait, and than a stream's silence."""
LATER = {408, 429, 502, 503, 504}
"""Statuses of a server, or of a proxy before it, that say to try again. Problems say so themselves."""
LOST = (OSError, http.client.HTTPException)
"""What the libraries raise when there is no answer, or only a part of it."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for this server, and a redirected POST would become a GET."""

    def redirect_request(self, *_arguments: Any) -> None:
        """No request, so that the redirect is the answer."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A successful answer: the body as it came, and its headers."""

    text: str
    headers: Message

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.text)


class StreamEvent(NamedTuple):
    """An event of a stream."""

    kind: str
    event_id: str
    data: str


class Server:
    """A server, and the token to use it with. `patience` are the seconds for which it may give no answer."""

    def __init__(self, url: str, token: str, *, patience: float) -> None:
        self._url = url
        self._token = token
        self._seconds = patience
        # Proxies are those of the environment, as everywhere.
        self._opener = urllib.request.build_opener(NoRedirect)

    def send(self, operation: Operation, values: Mapping[str, Any]) -> Answer:
        """Sends a request until it is answered. Raises `RefusedError`, or `NoAnswerError`."""
        patience, is_repetition = self.new_patience(), False
        while True:
            try:
                return self._try(operation, values)
            except LostError as error:
                is_repetition = is_repetition or not error.is_untouched
                patience.rest(error)
            except RefusedError as error:
                error.is_repetition = is_repetition
                raise

    def events(
        self, operation: Operation, values: Mapping[str, Any], patience: Patience
    ) -> Iterator[StreamEvent]:
        """The events of one stream, until it ends; an event `end` where there will be no others. Raises `LostError` if
        it is cut off. Renews the patience once it has begun."""
        with closing(self._open(operation, values)) as response:
            patience.renew()
            if response.status == http.HTTPStatus.NO_CONTENT:
                yield StreamEvent("end", "", "")
            yield from read_events(_lines(response))

    def new_patience(self) -> Patience:
        """For what is to be tried again."""
        return Patience(self._seconds, say=note)

    def _try(self, operation: Operation, values: Mapping[str, Any]) -> Answer:
        with closing(self._open(operation, values)) as response:
            try:
                return Answer(text=response.read().decode("utf-8", "replace"), headers=response.headers)
            except LOST as error:
                raise LostError(f"The answer broke off ({reason_of(error)})") from error

    def _open(self, operation: Operation, values: Mapping[str, Any]) -> http.client.HTTPResponse:
        """The beginning of a successful answer. Raises `LostError`, or `RefusedError`."""
        request = operation.request(values)
        headers = {
            "Authorization": f"Token {self._token}",
            "User-Agent": "sasweb-terminal",
            **request.headers,
        }
        try:
            response: http.client.HTTPResponse = self._opener.open(
                urllib.request.Request(
                    f"{self._url}{request.target}", data=request.body, headers=headers, method=request.method
                ),
                timeout=TIMEOUT,
            )
        except urllib.error.HTTPError as answer:
            with answer:
                raise _error_of(answer.code, answer.headers, _body_of(answer)) from answer
        except LOST as error:
            if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
                raise TerminalError(
                    f"The certificate of {self._url} is not valid: {reason_of(error)}"
                ) from error
            raise LostError(f"No answer from {self._url} ({reason_of(error)})") from error
        if response.status != http.HTTPStatus.NO_CONTENT and (
            response.headers.get_content_type() != operation.accepts
        ):
            with response:
                raise _error_of(response.status, response.headers, b"")
        return response


def read_events(lines: Iterable[bytes]) -> Iterator[StreamEvent]:
    """The server-sent events in these lines. Comments, and an event that is not complete, are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if "data" in fields:
                yield StreamEvent(fields.get("event", ""), fields.get("id", ""), fields["data"])
            fields = {}
        elif not text.startswith(":"):
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")


def reason_of(error: Exception) -> str:
    """Why there is no answer, in a few words."""
    reason = getattr(error, "reason", None) or error
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            line = response.readline()
        except LOST as error:
            raise LostError(f"The stream broke off ({reason_of(error)})") from error
        if not line:
            return
        yield line


def _body_of(answer: urllib.error.HTTPError) -> bytes:
    try:
        return answer.read()
    except LOST:
        return b""


def _error_of(status: int, headers: Message, body: bytes) -> Exception:
    problem = read_problem(body)
    if problem.get("retryable", status in LATER):
        return LostError(
            f"The server answered {status}: {problem.get('title', 'nothing of this API')}",
            wait=_seconds(headers.get("Retry-After", "")),
            is_untouched=status == http.HTTPStatus.TOO_MANY_REQUESTS,
        )
    return RefusedError(
        describe(status, problem),
        code=problem.get("code", ""),
        body=body.decode("utf-8", "replace") if problem else "",
    )


def _seconds(retry_after: str) -> float:
    return float(retry_after) if retry_after.isdecimal() else 0.0
