"""`bin/sasweb changes`: the feed of everything that happens to the client's orders."""

from argparse import Namespace

from sasweb.terminal.errors import DONE, RefusedError
from sasweb.terminal.operations import LIST_CHANGES
from sasweb.terminal.output import show
from sasweb.terminal.resuming import is_of_cursor, note_resuming
from sasweb.terminal.server import Answer, Server
from sasweb.terminal.wording import change_line

PAGE_SIZE = 100
WAIT = 30
"""Seconds for which the server may hold a page until there is a change."""


def read_page(server: Server, after: str, *, wait: int) -> Answer:
    """The page of the feed after this cursor."""
    return server.send(LIST_CHANGES, {"after": after, "page_size": PAGE_SIZE, "wait": wait})


def changes(server: Server, arguments: Namespace) -> int:
    """Shows the changes after a cursor, and with --follow also those that will be. However it ends, it says where to go
    on: after the last change that was shown, unless that is what the server refuses."""
    cursor = arguments.after
    try:
        while True:
            answer = read_page(server, cursor, wait=WAIT if arguments.follow else 0)
            page = answer.json
            if arguments.json and (page["results"] or not arguments.follow):
                show(answer.text)
            elif not arguments.json:
                for change in page["results"]:
                    show(change_line(change))
            cursor = page["cursor"]
            if not (arguments.follow or page["has_more"]):
                return DONE
    except RefusedError as error:
        if is_of_cursor(error):
            cursor = ""
        raise
    finally:
        if cursor:
            note_resuming(arguments.argv, cursor)
