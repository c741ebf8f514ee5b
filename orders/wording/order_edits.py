"""What an edit of an order changes, and what it comes too late for, in sentences for operators."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from orders.business.fields import Field
from orders.business.kinds import Profile
from orders.business.order_edits import OrderEdit, Staying
from orders.vocabulary import StepStatus


class Row(NamedTuple):
    """Something that an edit changes, as texts."""

    label: str
    before: str
    after: str


class Comparison(NamedTuple):
    """What an edit changes: of the order's fields, of what people see of it, and of what each step asks for.

    The steps `alike` ask for the new values of the order's fields; `steps` are the others.
    """

    fields: Sequence[Row]
    profile: Sequence[Row]
    alike: Sequence[str]
    steps: Sequence[tuple[str, Sequence[Row]]]


LONGEST_VALUE = 200
"""Characters of a value that a sentence shows."""


def in_words(names: Iterable[str]) -> str:
    """Returns names as a sentence lists them: "a", "a and b", "a, b and c"."""
    *first, last = list(names)
    return f"{', '.join(first)} and {last}" if first else last


def value_text(value: Any, field: Field | None = None) -> str:
    """Returns a value on one line: an address as it is written, with commas; other objects as JSON."""
    if isinstance(value, Mapping) and field is not None and field.parts:
        return ", ".join(field.written(value))
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def compare_edit(edit: OrderEdit) -> Comparison:
    """Returns what an edit changes, to be read before it is confirmed."""
    fields = {field.name: field for field in edit.kind.fields}
    own = [_row(change.name, change.before, change.after, fields) for change in edit.fields]
    steps = [
        (
            step.step,
            [
                _row(name, step.before.get(name), step.after.get(name), fields)
                for name in {**step.before, **step.after}
                if step.before.get(name) != step.after.get(name)
            ],
        )
        for step in edit.following
    ]
    return Comparison(
        fields=own,
        profile=_profile_rows(edit),
        alike=[step for step, rows in steps if set(rows) <= set(own)],
        steps=[(step, rows) for step, rows in steps if not set(rows) <= set(own)],
    )


def _row(name: str, before: Any, after: Any, fields: Mapping[str, Field]) -> Row:
    field = fields.get(name)
    return Row(field.label if field else name, value_text(before, field), value_text(after, field))


def _profile_rows(edit: OrderEdit) -> list[Row]:
    labels = {attribute.name: attribute.label for attribute in edit.kind.attributes}
    before, after = (_profile_texts(profile, labels) for profile in edit.profiles)
    names = {**before, **after}
    return [
        Row(name, before.get(name, ""), after.get(name, ""))
        for name in names
        if before.get(name, "") != after.get(name, "")
    ]


def _profile_texts(profile: Profile, labels: Mapping[str, str]) -> dict[str, str]:
    value, promised = profile.value, profile.promised_by
    return {
        "Title": profile.title,
        "Email": profile.email,
        "Value": f"{value.figures} {value.currency}" if value else "",
        "Promised by": f"{promised:%Y-%m-%d %H:%M %Z}" if promised else "",
        "Lines": ", ".join(f"{line.quantity} × {line.title}" for line in profile.lines),
        **{labels.get(name, name): text for name, text in profile.attributes.items()},
    }


def reversal_sentences(edit: OrderEdit) -> list[str]:
    """Says of each step that may have been done that this is reversed before the step is done again."""
    return [
        f"It is unknown whether {step} was done. So it is reversed first, in case it was, and then done again with the "
        "new values."
        for step in edit.reversed_first
    ]


def staying_sentences(edit: OrderEdit) -> list[str]:
    """Says of each step that an edit comes too late for, and what that step has asked for."""
    fields = {field.name: field for field in edit.kind.fields}
    return [_staying_sentence(step, fields) for step in edit.staying]


def _staying_sentence(step: Staying, fields: Mapping[str, Field]) -> str:
    texts = "; ".join(
        value_text(value, fields.get(name)) for name, value in step.request.items() if value is not None
    )
    shown = texts if len(texts) <= LONGEST_VALUE else f"{texts[:LONGEST_VALUE]}…"
    with_ = f" with “{shown}”" if shown else ""
    if step.state == StepStatus.COMPLETED:
        return f"{step.step} was already done{with_}. This edit does not change that."
    if step.state == StepStatus.AWAITING:
        return f"{step.step} already waits for its answer{with_}. This edit does not change that."
    if step.state == StepStatus.NOT_STARTED:
        return f"{step.step} may already have been done{with_}, and is tried again with the same values."
    return f"{step.step} is already under way{with_}. This edit does not change that."
