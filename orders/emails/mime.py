"""An email as its bytes. The same email gives the same bytes, so a second copy is identical. Pure.

Python's own policy parses every header twice, which is most of the cost of an email, folds a long Message-ID, and
chooses other boundaries each time.
"""

import binascii
import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.header import Header
from email.utils import formataddr, parseaddr

from orders.emails.letter import Picture

LONGEST_HEADER = 900
"""In characters, before they are encoded."""
_LINE_END = "\r\n"


@dataclass(frozen=True, kw_only=True)
class Message:
    """An email: its headers, its plain text, and its HTML with the pictures in it, if it has any."""

    headers: Mapping[str, str]
    text: str
    html: str = ""
    pictures: Sequence[Picture] = ()


def write(message: Message) -> bytes:
    """The email as it is sent. Raises `ValueError` for a header that could start another one."""
    plain = _text_part("plain", message.text)
    if not message.html:
        body = plain
    else:
        html = _text_part("html", message.html)
        if message.pictures:
            html = _multipart("related", [html, *map(_picture_part, message.pictures)])
        body = _multipart("alternative", [plain, html])
    lines = [_header(name, value) for name, value in message.headers.items()]
    return _LINE_END.join([*lines, "MIME-Version: 1.0", body]).encode("ascii")


def mailbox(text: str, *, address: str) -> str:
    """The header of a mailbox such as `Shop <orders@shop.example>`: its name, encoded if need be, and the address."""
    return formataddr((parseaddr(text)[0], address))


def _header(name: str, value: str) -> str:
    """A header in ASCII, with other letters encoded (RFC 2047). Addresses must be in ASCII already, as encoded words
    have no place in them."""
    if not value.isprintable() or len(value) > LONGEST_HEADER:
        raise ValueError(f"the header {name} cannot be one line")
    if not value.isascii():
        encoded = Header(value, "utf-8", header_name=name, maxlinelen=76).encode(linesep=_LINE_END)
        return f"{name}: {encoded}"
    return f"{name}: {value}"


def _text_part(subtype: str, text: str) -> str:
    content = text.replace("\r\n", "\n").encode("utf-8")
    encoded = binascii.b2a_qp(content, istext=True, quotetabs=False).decode("ascii").replace("\n", _LINE_END)
    return _part(
        [f'Content-Type: text/{subtype}; charset="utf-8"', "Content-Transfer-Encoding: quoted-printable"],
        encoded,
    )


def _picture_part(picture: Picture) -> str:
    encoded = b64encode(picture.png).decode("ascii")
    lines = [encoded[start : start + 76] for start in range(0, len(encoded), 76)]
    headers = [
        "Content-Type: image/png",
        "Content-Transfer-Encoding: base64",
        f"Content-ID: <{picture.cid}>",
        f'Content-Disposition: inline; filename="{picture.cid.partition("@")[0]}.png"',
    ]
    return _part(headers, _LINE_END.join([*lines, ""]))


def _multipart(subtype: str, parts: Sequence[str]) -> str:
    """Parts in one. The boundary follows from them, and cannot occur in them: a line of theirs has no digest of it."""
    boundary = f"={hashlib.sha256(_LINE_END.join(parts).encode()).hexdigest()[:32]}="
    pieces = [f"--{boundary}{_LINE_END}{part}" for part in parts]
    content = _LINE_END.join([*pieces, f"--{boundary}--", ""])
    return _part([f'Content-Type: multipart/{subtype}; boundary="{boundary}"'], content)


def _part(headers: Sequence[str], content: str) -> str:
    return _LINE_END.join([*headers, "", content])
