"""What a stored email shows its reader: headers, the HTML part with its inline images, the plain-text part."""

import base64
import email
import email.policy
import html
import re
from dataclasses import dataclass
from email.message import EmailMessage
from typing import cast
from urllib.parse import unquote

UNREADABLE = (ValueError, LookupError, IndexError, AttributeError)
"""What the standard library raises for emails that are not well formed."""
CID = re.compile(r"cid:([^\s\"'<>)]+)", re.IGNORECASE)
TARGET = re.compile(r"(<a\b[^>]*?)\s+target\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)
LINK = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)\]]")
BASE = '<base target="_top">'


@dataclass(frozen=True, kw_only=True)
class Content:
    """The parts of an email; empty where it has none. `html` needs nothing from elsewhere but what its author links."""

    sender: str
    html: str
    text: str


def read(raw: bytes) -> Content:
    """Reads an email as the sink stored it. A part that cannot be decoded is empty."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    return Content(
        sender=_header(message, "from"),
        html=_with_images(_part(message, "html"), _images(message)),
        text=_part(message, "plain"),
    )


def linked(text: str) -> str:
    """Plain text as HTML whose urls are links."""
    pieces, end = [], 0
    for match in LINK.finditer(text):
        url = html.escape(match[0])
        pieces += [html.escape(text[end : match.start()]), f'<a href="{url}">{url}</a>']
        end = match.end()
    return "".join([*pieces, html.escape(text[end:])])


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except UNREADABLE:
        return ""


def _part(message: EmailMessage, kind: str) -> str:
    try:
        part = message.get_body(preferencelist=(kind,))
        return str(part.get_content()).replace("\r\n", "\n") if part is not None else ""
    except UNREADABLE:
        return ""


def _images(message: EmailMessage) -> dict[str, str]:
    """The images that the HTML part may name: their urls, which contain them, by their Content-ID."""
    images = {}
    for part in message.walk():
        name = str(part.get("content-id", "")).strip().removeprefix("<").removesuffix(">")
        if name and part.get_content_maintype() == "image":
            data = cast(bytes, part.get_payload(decode=True) or b"")
            images[name] = f"data:{part.get_content_type()};base64,{base64.b64encode(data).decode()}"
    return images


def _with_images(page: str, images: dict[str, str]) -> str:
    """The HTML part with its inline images in it, whose links open in the whole window. The rest is left to the policy
    that it is shown with."""
    if not page:
        return ""
    page = CID.sub(lambda match: images.get(unquote(html.unescape(match[1])), match[0]), page)
    page = TARGET.sub(r"\1", page)
    if head := HEAD.search(page):
        return page[: head.end()] + BASE + page[head.end() :]
    return BASE + page
