"""The HTML of the mailbox's pages. They work without JavaScript and ask nothing of any other host."""

import html
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from sandbox.ledger import StoredMail
from sandbox.mail_content import Content, linked

ROOT = "/_mail/"
ORDER_NUMBER = re.compile(r"\(([0-9A-Z]{4}-[0-9A-Z]{4})\)\s*\Z")
"""The number that customers know an order by, at the end of a subject."""


def listing(
    mails: Sequence[StoredMail], *, recipients: Sequence[str], to: str, before: int | None, is_first: bool
) -> str:
    """The page with emails, newest first. `before` is where the next page begins."""
    choices = "".join(
        f"<option{' selected' if recipient.lower() == to.lower() else ''}>{html.escape(recipient)}</option>"
        for recipient in recipients
    )
    filters = f"""
<form class="filter" method="get" action="{ROOT}">
  <label for="to">To</label>
  <select id="to" name="to"><option value="">everyone</option>{choices}</select>
  <button>Show</button>
  <a href="{_url(to=to)}">Check for new emails</a>
</form>"""
    rows = "".join(map(_row, mails))
    if rows:
        content = f'<ol class="mails" reversed>{rows}</ol>'
    else:
        about = f" to {html.escape(to)}" if to else ""
        content = f'<p class="empty">No email{about} {"so far" if is_first else "is older"}.</p>'
    older = f'<p><a href="{_url(to=to, before=before)}">Older emails</a></p>' if before else ""
    words = "<p>Every email that the demonstration sends arrives here, and none leaves this machine.</p>"
    return page("Emails", f"<h1>Emails</h1>{words}{filters}{content}{older}")


def detail(mail: StoredMail, content: Content | None) -> str:
    """The page of one email. Without `content` it is of an older sandbox, which kept only the text."""
    sender = (content and content.sender) or mail.sender
    facts = [("From", sender), ("To", ", ".join(mail.recipients)), ("Order", _order(mail))]
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts if value
    )
    rows += f"<div><dt>Received</dt><dd>{time_at(mail.at)}</dd></div>"
    text = content.text if content else mail.body
    shown = f"<pre>{linked(text)}</pre>"
    if content and content.html:
        frame = f"{ROOT}{mail.number}/html"
        shown = f"""
<iframe src="{frame}" title="The email"
  sandbox="allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"></iframe>
<p class="more"><a href="{frame}">The email alone</a></p>"""
        if text:
            shown += f"<details><summary>Plain text</summary><pre>{linked(text)}</pre></details>"
    if content:
        shown += f'<p class="more"><a href="{ROOT}{mail.number}/raw">Source, as it was sent</a></p>'
    back = f'<p><a href="{ROOT}">All emails</a></p>'
    subject = html.escape(mail.subject or "(no subject)")
    return page(subject, f"{back}<h1>{subject}</h1><dl>{rows}</dl>{shown}")


def missing() -> str:
    """The page for an email that there is not."""
    return page("No such email", f'<h1>No such email</h1><p><a href="{ROOT}">All emails</a></p>')


def _row(mail: StoredMail) -> str:
    subject = html.escape(mail.subject or "(no subject)")
    recipients = html.escape(", ".join(mail.recipients))
    return f"""
<li><a href="{ROOT}{mail.number}">{subject}</a>
  <p>to {recipients} · {time_at(mail.at)}</p></li>"""


def _order(mail: StoredMail) -> str:
    number = ORDER_NUMBER.search(mail.subject)
    return number[1] if number else mail.order_id


def time_at(at: str) -> str:
    """A moment of the ledger as HTML."""
    moment = datetime.fromisoformat(at)
    return f'<time datetime="{html.escape(at)}">{moment:%d %B %Y, %H:%M:%S} UTC</time>'


def _url(**parameters: Any) -> str:
    query = urlencode({name: value for name, value in parameters.items() if value})
    return html.escape(f"{ROOT}?{query}" if query else ROOT)


def page(title: str, content: str) -> str:
    """A page of the sandbox for people."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} – sasweb’s sandbox</title>
<link rel="stylesheet" href="{ROOT}style.css">
</head>
<body><main>{content}</main></body>
</html>
"""
