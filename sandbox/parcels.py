"""The carrier's page about a parcel, to which the demonstration's tracking numbers lead."""

import html

from aiohttp import web

from sandbox import ledger
from sandbox.commits import Commits
from sandbox.mailbox import html_page
from sandbox.mailbox_pages import page, time_at


class Parcels:
    """The pages under `/_parcels/`."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    async def show(self, request: web.Request) -> web.Response:
        """`GET /_parcels/{tracking}`."""
        tracking = request.match_info["tracking"]
        parcel = await self._commits.read(ledger.find_parcel, tracking=tracking)
        return html_page(_page_of(tracking, parcel), status=404 if parcel is None else 200)


def _page_of(tracking: str, parcel: ledger.Parcel | None) -> str:
    if parcel is None:
        return page(
            "No such parcel", "<h1>No such parcel</h1><p>The carrier has no parcel with this number.</p>"
        )
    number = html.escape(tracking)
    rows = [
        ("Tracking number", number),
        ("Order", html.escape(parcel.order_id)),
        ("Handed over", time_at(parcel.created_at)),
    ]
    rows += [("Cancelled", time_at(parcel.voided_at))] if parcel.voided_at else []
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    words = "This parcel was cancelled." if parcel.voided_at else "The carrier has this parcel."
    note = "This is the demonstration’s carrier: nothing really travels."
    return page(f"Parcel {number}", f"<h1>Your parcel</h1><p>{words} {note}</p><dl>{facts}</dl>")
