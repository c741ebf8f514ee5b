"""HTTP for agents: one try of one call, bounded in time and size. `answers.classify` says what each failure means.

Nothing is retried here. The agent host retries, within the complete-by time; it may, because every call carries an
idempotency key (A3).
"""

import math
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit

from orders.agents.answers import classify as classify
from orders.agents.answers import read_error, read_object, retry_after_seconds
from orders.agents.exchange import exchange, short_exchange
from orders.agents.rehearsing import Held, show
from orders.agents.tls import client_tls
from orders.engine.contracts import Done, Finding, Json, NotDone, Request, Unknown
from orders.engine.errors import Fault, Refused, Transient, Unresolved
from orders.engine.exchanges import note_exchange
from orders.tracing.calls import HttpCall

if TYPE_CHECKING:
    from orders.agents.connections import Answer, Connections

CALL_TIMEOUT = 5.0
"""Seconds that one call may take, from waiting for a connection to the last byte of the answer. A step's complete-by
time, 30 s by default, has room for a few of them."""

IDLE_CONNECTION = 4.0
"""Seconds for which an idle connection is kept. Many servers close theirs after 5 s, and a call that meets that moment
fails; so we close first."""

LARGEST_ANSWER = 64 * 1024
"""The most bytes that are read of an answer. An agent keeps a few hundred of them; a gigabyte must not fill our
memory."""

FORM = "application/x-www-form-urlencoded"
"""The media type of a form."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "authorization", "content-length", "content-type", "host"}
)


def unknown_operation(request: Request) -> Refused:
    """Returns the refusal of an operation that this release's agent does not offer."""
    return Refused("unknown_operation", f"{request.step}: unknown operation {request.operation!r}")


class Remote:
    """One remote service over HTTP, for one event loop.

    `base_url` may carry credentials (http://user:password@host); `token` is sent as a bearer token instead. Neither
    appears in a fault, even if the service repeats it.

    The idempotency key is in the header `key_header`, or, if `key_field` is named, in that field of the body.

    `certificate` and `key_file` are the paths of a client certificate and its key, `ca` that of the certificates to
    trust in place of the system's (see `client_tls`). They are read once, here.

    Connections are made on first use and shared; `close` closes them. Raises `ValueError` for settings that cannot
    work; its message names the setting, and no secret.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = CALL_TIMEOUT,
        token: str = "",
        key_header: str = "Idempotency-Key",
        key_field: str = "",
        certificate: str = "",
        key_file: str = "",
        ca: str = "",
    ) -> None:
        if not timeout > 0 or not math.isfinite(timeout):
            raise ValueError(f"timeout={timeout!r}: must be a number of seconds above 0")
        if not _HEADER_NAME.fullmatch(key_header) or key_header.lower() in _OWN_HEADERS:
            raise ValueError(
                f"key_header={key_header!r}: must be the name of a header that is free for the key"
            )
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._key_header = key_header
        self._key_field = key_field
        self._tls = client_tls(certificate=certificate, key_file=key_file, ca=ca)
        if self._tls is not None and not base_url.lower().startswith("https://"):
            raise ValueError("certificate, key_file and ca need a url that starts with https://")
        self._headers, self._secrets = _credentials(base_url, token)
        self._connections: Connections | None = None

    async def post(self, path: str, *, key: str, body: Json, as_form: bool = False) -> dict[str, Any]:
        """Makes one call and returns the answer's JSON object. Raises a `Fault` if it fails (see `classify`).

        The body is JSON, or a form if `as_form`; a form's values are texts, numbers, truth values, or lists of them.
        An answer without content (204) is an empty object.
        """
        return await self._send("POST", path, key=key, body=body, as_form=as_form)

    async def put(self, path: str, *, key: str, body: Json, as_form: bool = False) -> dict[str, Any]:
        """As `post`, with the method PUT."""
        return await self._send("PUT", path, key=key, body=body, as_form=as_form)

    async def get(self, path: str, **params: str) -> dict[str, Any]:
        """Reads something and returns the answer's JSON object. Raises a `Fault` if it fails (see `classify`)."""
        return await self._call("GET", path, params=params)

    async def inquire(self, key: str) -> Finding:
        """Asks what has become of the call with this key: `GET calls?key=…`. Raises a `Fault` if that fails.

        The answer is `{"result": "done", "answer": {…}}`, or has another `result`: `not_done`, or what else it knows.
        """
        answer = await self.get("calls", key=key)
        result, first_answer = answer.get("result"), answer.get("answer")
        if result == "done" and isinstance(first_answer, dict):
            return Done(result=first_answer)
        return NotDone() if result == "not_done" else Unknown(reason=f"the service says {result!r:.60}")

    async def close(self) -> None:
        """Closes the connections. A later call opens new ones."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()

    async def _send(self, method: str, path: str, *, key: str, body: Json, as_form: bool) -> dict[str, Any]:
        """Makes a call that carries the key. Raises `ValueError` if the body has the key's own field already."""
        content, headers = dict(body), {}
        if not self._key_field:
            headers[self._key_header] = key
        elif self._key_field in content:
            raise ValueError(f"the body has a field {self._key_field!r}, which is for the key")
        else:
            content[self._key_field] = key
        if as_form:
            headers["Content-Type"] = FORM
            return await self._call(method, path, data=write_form(content), headers=headers)
        return await self._call(method, path, json=content, headers=headers)

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            answer = await self._answer(method, f"{self._base_url}/{path}", **options)
        except Held as held:
            show(held, secrets=self._shown_secrets)
            raise
        try:
            content = self._read(answer)
        except Fault as fault:
            fault.exchange = exchange(
                method=method,
                path=f"/{path}",
                sent={**self._headers, **options.get("headers", {})},
                status=answer.status,
                answered=answer.headers,
                secrets=self._shown_secrets,
                body=answer.body,
            )
            raise
        note_exchange(
            short_exchange(
                method=method,
                path=f"/{path}",
                status=answer.status,
                answered=answer.headers,
                secrets=self._shown_secrets,
            )
        )
        return content

    async def _answer(self, method: str, url: str, **options: Any) -> "Answer":
        call, status, error = HttpCall(method, url), 0, "cancelled"
        try:
            headers = {**options.pop("headers", {}), **call.headers}
            answer = await self._open().call(method, url, headers=headers, **options)
            status, error = answer.status, ""
        except Fault as fault:
            error = fault.code
            raise
        finally:
            call.end(status=status, error=error)
        return answer

    def _read(self, answer: "Answer") -> dict[str, Any]:
        if not 200 <= answer.status < 300:
            raise classify(
                answer.status,
                details=read_error(self._without_secrets(answer.body or b"")),
                retry_after=retry_after_seconds(answer.headers, now=datetime.now(UTC)),
            )
        if answer.body is None:
            raise Unresolved("answer_too_large", f"the answer is larger than {LARGEST_ANSWER} bytes")
        if answer.status == 204:
            return {}
        try:
            return read_object(answer.body)
        except ValueError as error:
            raise Transient("bad_answer", "the answer is not a JSON object that can be kept") from error

    @property
    def _shown_secrets(self) -> list[str]:
        return [secret.decode() for secret in self._secrets]

    def _without_secrets(self, raw: bytes) -> bytes:
        for secret in self._secrets:
            raw = raw.replace(secret, b"(secret)")
        return raw

    def _open(self) -> "Connections":
        if self._connections is None:
            from orders.agents.connections import Connections  # noqa: PLC0415 - the roles that call nobody start sooner

            self._connections = Connections(
                timeout=self._timeout,
                idle=IDLE_CONNECTION,
                largest=LARGEST_ANSWER,
                headers=self._headers,
                tls=self._tls,
            )
        return self._connections


def write_form(fields: Json) -> str:
    """Writes fields as a form; a list repeats its field. Raises `TypeError` for a value that a form cannot carry."""
    pairs = [
        (name, _form_text(name, item))
        for name, value in fields.items()
        for item in (value if isinstance(value, list | tuple) else [value])
    ]
    return urlencode(pairs)


def _form_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"a form cannot carry the field {name!r}, which is a {type(value).__name__}")


def _credentials(base_url: str, token: str) -> tuple[Mapping[str, str], list[bytes]]:
    """The headers of every call, and the secrets that no error may show. Raises `ValueError` for an unusable token."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "sasweb"}
    parts = urlsplit(base_url)
    user, password = unquote(parts.username or ""), parts.password
    if token:
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("token: must be printable ASCII without spaces")
        if password is not None:
            raise ValueError("token: the url has a password already, and a call can carry only one of them")
        headers["Authorization"] = f"Bearer {token}"
    plain = unquote(password or "")
    sent = b64encode(f"{user}:{plain}".encode("latin1", "replace")).decode() if plain else ""
    secrets = {token, password or "", plain, sent}
    return headers, [secret.encode() for secret in secrets if secret]
