"""The names of acts in the audit log, as on buttons: a verb first, and the word for people.

They are stored, filtered and exported as they were.
"""

from collections.abc import Mapping

VERB_FIRST: Mapping[str, str] = {
    "chaos clear": "clear faults",
    "chaos faults": "set faults",
    "drill start": "start a drill",
    "chaos kill": "kill a process",
    "second factor codes": "renew recovery codes",
    "second factor remove": "remove second factor",
    "second factor set up": "set up second factor",
    "token create": "create token",
    "token pin": "pin token",
    "token revoke": "revoke token",
    "token rotate": "rotate token",
    "note": "add note",
    "bulk resubmit": "resubmit in bulk",
    "compensate": "cancel",
    "bulk compensate": "cancel in bulk",
    "bulk edit": "edit in bulk",
}


def act_label(act: str) -> str:
    """How people read the name of an act: "create token"."""
    return VERB_FIRST.get(act, act)
