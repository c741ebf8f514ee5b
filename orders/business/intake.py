"""Turns submissions into orders of their kinds: validates them and inserts their rows (S2, S3)."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from uuid import UUID

import structlog
from django.contrib.auth import get_user_model

from orders.business import registry
from orders.business.kinds import Draft, OrderKind, Profile
from orders.business.own_words import NO_WORDS
from orders.business.reading import BadOrderError, read_letters, read_object, read_whole, shown
from orders.business.submissions import DEFAULT_PRIORITY, data_of, read_client, read_common
from orders.engine.contracts import Workflow
from orders.engine.intakes import (
    AcceptedOrder,
    ClosedOrder,
    DuplicateSubmission,
    FailedSubmission,
    IntakeAnswer,
    RejectedSubmission,
    Submission,
    customer_of,
)
from orders.engine.runtime.sql import is_database_trouble
from orders.engine.runtime.statements import savepoint
from orders.engine.runtime.text import keepable
from orders.fields.email import LONGEST as LONGEST_EMAIL
from orders.models import Order, OrderLine

log = structlog.get_logger()


def _width(column: Any) -> int:
    return int(column.max_length)


LONGEST_TITLE = _width(Order._meta.get_field("title"))
LONGEST_ATTRIBUTE = _width(getattr(Order._meta.get_field("attributes"), "base_field"))  # noqa: B009 - of an array
LONGEST_SKU, LONGEST_LINE = (_width(OrderLine._meta.get_field(name)) for name in ("sku", "title"))
"""In characters: an order's title, an attribute with its name, and the code and the title of a line."""
LARGEST_NUMBER, LARGEST_AMOUNT = 2**31 - 1, 2**63 - 1
"""Of a quantity or a price, and of an order's value, in minor units."""


Reading: TypeAlias = Draft | FailedSubmission | RejectedSubmission


@dataclass(frozen=True, kw_only=True)
class OrderIntake:
    """The intake of all businesses (see `orders.engine.intakes.Intake`). An order takes the newest version of the
    workflow that its submission names."""

    newest: Mapping[str, Workflow] = field(default_factory=registry.newest_workflows)
    unnamed: str = field(default_factory=lambda: registry.default_kind().name)

    def __call__(self, submissions: Sequence[Submission]) -> Sequence[IntakeAnswer]:
        """Answers each submission, in the order given, and inserts the orders that it accepts.

        Takes at most four statements for any number of submissions, and those of their kinds, inside the caller's
        transaction. Raises `IntegrityError` if another process inserts one of the orders at the same moment; on a
        retry it is a duplicate.
        """
        readings = [read_submission(submission) for submission in submissions]
        drafts = [draft for draft in readings if isinstance(draft, Draft)]
        known_ids = set(
            Order.objects.filter(pk__in={item.order_id for item in submissions}).values_list("pk", flat=True)
        )
        refusals = _refusals(drafts)
        accepted: list[Draft] = []
        rejected: set[UUID] = set()
        answers: list[IntakeAnswer] = []
        for submission, draft in zip(submissions, readings, strict=True):
            answer = self._judge(submission, draft, refusals)
            if submission.order_id in known_ids or (
                isinstance(answer, RejectedSubmission) and submission.order_id in rejected
            ):
                answer = DuplicateSubmission(submission=submission)
            elif isinstance(answer, RejectedSubmission):
                rejected.add(submission.order_id)
            elif isinstance(draft, Draft):
                known_ids.add(submission.order_id)
                accepted.append(draft)
            answers.append(answer)
        _insert(accepted)
        return answers

    def close(self, submissions: Sequence[Submission]) -> Sequence[ClosedOrder]:
        """Keeps orders that were cancelled and cannot be inserted, each with what can be read of it and stored.

        The business inserts no rows of its own for them. Takes a few statements for each.
        """
        customers = _customers({key for item in submissions if (key := customer_of(item.client)) is not None})
        for submission in submissions:
            key = customer_of(submission.client)
            _keep(submission, key if key in customers else None)
        return [self._closed(submission) for submission in submissions]

    def _closed(self, submission: Submission) -> ClosedOrder:
        common = _common(submission)
        return ClosedOrder(
            submission=submission,
            workflow=self.newest.get(_name_of(submission)),
            priority=common.get("priority", DEFAULT_PRIORITY),
            reply_to=common.get("reply_to", ""),
        )

    def _judge(self, submission: Submission, draft: Reading, refusals: Mapping[int, str]) -> IntakeAnswer:
        if isinstance(draft, RejectedSubmission | FailedSubmission):
            return draft
        if reason := refusals.get(id(draft)):
            return RejectedSubmission(submission=submission, reason=reason)
        return AcceptedOrder(
            submission=submission,
            workflow=self.newest[draft.kind.name],
            priority=draft.priority,
            reply_to=draft.reply_to,
            description=draft.data,
        )


def read_submission(submission: Submission) -> Reading:
    """Reads a submission, or says why it can never become an order, or that its kind fails. Touches no database."""
    kind: type[OrderKind] | None = None
    try:
        body = read_object(submission.body, "the body")
        kind = kind_of(body)
        common = read_common(body)
        data = kind.read(data_of(body))
        profile = kind.profile(data, placed_at=common["placed_at"])
        check_profile(profile)
        return Draft(
            submission=submission,
            kind=kind,
            data=data,
            profile=profile,
            customer_id=read_client(submission.client),
            **common,
        )
    except BadOrderError as error:
        return RejectedSubmission(submission=submission, reason=str(error))
    except Exception as error:
        if kind is None:
            raise
        return FailedSubmission(submission=submission, workflow=kind.name, error=error)


def check_profile(profile: Profile) -> None:
    """Raises `BadOrderError` if a part of a profile does not fit its column. A title is cut instead."""
    texts = [("email", profile.email, LONGEST_EMAIL), ("title", profile.title[:LONGEST_TITLE], LONGEST_TITLE)]
    for name, text in profile.attributes.items():
        texts.append((f"attribute {name}", f"{name}={text}", LONGEST_ATTRIBUTE))
    for index, line in enumerate(profile.lines):
        texts.append((f"lines[{index}].sku", line.sku, LONGEST_SKU))
        texts.append((f"lines[{index}].title", line.title, LONGEST_LINE))
        read_whole(line.quantity, f"lines[{index}].quantity", 1, LARGEST_NUMBER)
        read_whole(line.unit_price, f"lines[{index}].unit_price", 0, LARGEST_NUMBER)
    for where, text, longest in texts:
        if len(text) > longest:
            raise BadOrderError(
                f"{where} has {len(text)} characters, and at most {longest} fit.", where=where
            )
        if keepable(text) != text:
            raise BadOrderError(f"{where} has characters that cannot be stored.", where=where)
    if len({line.sku for line in profile.lines}) < len(profile.lines):
        raise BadOrderError("two lines have the same sku.", where="lines")
    if profile.value is not None:
        read_whole(profile.value.amount, "the value", 0, LARGEST_AMOUNT)
        read_letters(profile.value.currency, "the currency", 3)
    if profile.promised_by is not None and profile.promised_by.tzinfo is None:
        raise BadOrderError("promised_by must have a time zone.", where="promised_by")


def kind_of(body: Mapping[str, object]) -> type[OrderKind]:
    """The kind of the order that a submission describes. Raises `BadOrderError` if this release has no such kind."""
    name = body.get("workflow")
    kind = registry.default_kind() if name is None else registry.find_kind(str(name))
    if kind is None:
        raise BadOrderError(f"there is no workflow {shown(name)}.", where="workflow")
    return kind


def _refusals(drafts: Sequence[Draft]) -> dict[int, str]:
    """Why some drafts are refused, by the identity of the draft: two submissions may have one id."""
    customers = _customers({draft.customer_id for draft in drafts if draft.customer_id is not None})
    refusals: dict[int, str] = {}
    for kind in registry.kinds():
        own = [draft for draft in drafts if draft.kind is kind]
        for draft, refusal in zip(own, kind.refuse(own) if own else (), strict=True):
            if reason := refusal or _without_customer(draft, customers):
                refusals[id(draft)] = reason
    return refusals


def _without_customer(draft: Draft, customers: Container[int]) -> str | None:
    if draft.customer_id is not None and draft.customer_id not in customers:
        return f"unknown customer account {draft.customer_id}."
    return None


def _readable(submission: Submission) -> Draft | None:
    try:
        reading = read_submission(submission)
    except Exception:
        log.exception("a submission cannot be read", action="close", order_id=str(submission.order_id))
        return None
    return reading if isinstance(reading, Draft) else None


def _keep(submission: Submission, customer_id: int | None) -> None:
    """Inserts a cancelled order. What its kind reads of it may be the very thing that cannot be stored, so then it is
    kept without."""
    if (draft := _readable(submission)) is not None:
        try:
            with savepoint():
                _insert_orders([replace(draft, customer_id=customer_id)])
            return
        except Exception as error:
            if is_database_trouble(error):
                raise
            log.exception("a submission cannot be stored", action="close", order_id=str(submission.order_id))
    order = _unreadable(submission)
    order.customer_id = customer_id
    order.save(force_insert=True)


def _name_of(submission: Submission) -> str:
    """The kind of order that a submission is for; "" if this release has no such kind."""
    try:
        return kind_of(read_object(submission.body, "the body")).name
    except BadOrderError:
        return ""


def _common(submission: Submission) -> dict[str, Any]:
    """What every submission has; nothing if it cannot be read."""
    try:
        return read_common(submission.body)
    except BadOrderError:
        return {}


def _unreadable(submission: Submission) -> Order:
    """An order whose kind cannot read it, so that nobody knows whom its data name: it is kept without them."""
    common = {"placed_at": submission.posted_at, **_common(submission)}
    words = common.get("words", NO_WORDS)
    return Order(
        id=submission.order_id,
        subject=common.get("subject", ""),
        reference=words.reference,
        metadata=dict(words.metadata) or None,
        data={},
        placed_at=common["placed_at"],
    )


def _customers(keys: set[int]) -> set[int]:
    if not keys:
        return set()
    return set(get_user_model().objects.filter(pk__in=keys).values_list("pk", flat=True))


def _insert_orders(drafts: Sequence[Draft]) -> None:
    Order.objects.bulk_create(map(_order, drafts))
    OrderLine.objects.bulk_create(
        line for draft in drafts for line in lines_of(draft.order_id, draft.profile)
    )


def _insert(drafts: Sequence[Draft]) -> None:
    _insert_orders(drafts)
    for kind in registry.kinds():
        if own := [draft for draft in drafts if draft.kind is kind]:
            kind.insert(own)


def _order(draft: Draft) -> Order:
    return Order(
        id=draft.order_id,
        customer_id=draft.customer_id,
        subject=draft.subject,
        reference=draft.words.reference,
        metadata=dict(draft.words.metadata) or None,
        data=dict(draft.data),
        placed_at=draft.placed_at,
        tells_customer=draft.tells_customer,
        **columns_of(draft.profile),
    )


def columns_of(profile: Profile) -> dict[str, Any]:
    """The columns of an order that show its profile, but for its lines."""
    value = profile.value
    return {
        "title": profile.title[:LONGEST_TITLE],
        "email": profile.email,
        "currency": value.currency if value else "",
        "total": value.amount if value else None,
        "attributes": [f"{name}={text}" for name, text in profile.attributes.items()],
        "promised_by": profile.promised_by,
    }


def lines_of(order_id: UUID, profile: Profile) -> list[OrderLine]:
    """The lines of an order, to be inserted."""
    return [
        OrderLine(
            order_id=order_id,
            sku=line.sku,
            title=line.title,
            quantity=line.quantity,
            unit_price=line.unit_price,
        )
        for line in profile.lines
    ]
