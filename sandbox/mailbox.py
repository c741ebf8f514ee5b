"""The mailbox: pages on which people read the emails that the sink has stored, and follow their links.

An email is not trusted. Its HTML is shown in a frame without scripts, forms and an origin, under a policy that lets it
load nothing.
"""

from functools import cache
from pathlib import Path

from aiohttp import web

from sandbox import ledger, mail_content, mailbox_pages
from sandbox.commits import Commits

PAGE = 50
"""Emails on one page of the list."""
MOST_RECIPIENTS = 200
"""Recipients to choose from: those of the newest emails."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
POLICY_OF_EMAILS = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'self';"
    " sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation"
)


class Mailbox:
    """The pages under `/_mail/`."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    def add_to(self, app: web.Application) -> None:
        """Adds the pages to the sandbox's application."""
        app.router.add_get("/_mail", self.redirect)
        app.router.add_get("/_mail/", self.list_mails)
        app.router.add_get("/_mail/style.css", self.style)
        app.router.add_get(r"/_mail/{number:\d{1,18}}", self.show)
        app.router.add_get(r"/_mail/{number:\d{1,18}}/html", self.show_html)
        app.router.add_get(r"/_mail/{number:\d{1,18}}/raw", self.show_raw)

    async def redirect(self, request: web.Request) -> web.Response:
        """`GET /_mail`."""
        return web.Response(status=302, headers={"Location": mailbox_pages.ROOT})

    async def style(self, request: web.Request) -> web.Response:
        """`GET /_mail/style.css`."""
        return web.Response(text=_style(), content_type="text/css", headers=HEADERS)

    async def list_mails(self, request: web.Request) -> web.Response:
        """`GET /_mail/?to=RECIPIENT&before=NUMBER`: emails, newest first."""
        to, before = request.query.get("to", "").strip(), request.query.get("before", "")
        is_number = before.isascii() and before.isdigit() and len(before) <= 18
        mails = await self._commits.read(
            ledger.list_mails, to=to, before=int(before) if is_number else None, most=PAGE + 1
        )
        recipients = await self._commits.read(ledger.list_recipients, most=MOST_RECIPIENTS)
        if to and to.lower() not in map(str.lower, recipients):
            recipients.append(to)
        page = mailbox_pages.listing(
            mails[:PAGE],
            recipients=recipients,
            to=to,
            before=mails[PAGE - 1].number if len(mails) > PAGE else None,
            is_first=not is_number,
        )
        return html_page(page)

    async def show(self, request: web.Request) -> web.Response:
        """`GET /_mail/{number}`: one email."""
        if (mail := await self._find(request)) is None:
            return html_page(mailbox_pages.missing(), status=404)
        return html_page(
            mailbox_pages.detail(mail, mail_content.read(mail.raw) if mail.raw is not None else None)
        )

    async def show_html(self, request: web.Request) -> web.Response:
        """`GET /_mail/{number}/html`: its HTML part, for the frame."""
        mail = await self._find(request)
        if mail is None or mail.raw is None or not (content := mail_content.read(mail.raw)).html:
            return html_page(mailbox_pages.missing(), status=404)
        return html_page(content.html, policy=POLICY_OF_EMAILS)

    async def show_raw(self, request: web.Request) -> web.Response:
        """`GET /_mail/{number}/raw`: the email as it was sent."""
        mail = await self._find(request)
        if mail is None or mail.raw is None:
            return html_page(mailbox_pages.missing(), status=404)
        headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'; sandbox"}
        return web.Response(body=mail.raw, content_type="text/plain", charset="utf-8", headers=headers)

    async def _find(self, request: web.Request) -> ledger.StoredMail | None:
        return await self._commits.read(ledger.find_mail, number=int(request.match_info["number"]))


@cache
def _style() -> str:
    return (Path(__file__).parent / "mailbox.css").read_text()


def html_page(page: str, *, status: int = 200, policy: str = POLICY) -> web.Response:
    """A page as HTTP."""
    headers = {**HEADERS, "Content-Security-Policy": policy}
    return web.Response(
        body=page.encode("utf-8", "replace"),
        status=status,
        content_type="text/html",
        charset="utf-8",
        headers=headers,
    )
