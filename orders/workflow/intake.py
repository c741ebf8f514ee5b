"""Turns submissions into orders: validates them and inserts their `Order` and `OrderLine` rows (S2, S3)."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import get_user_model

from orders.engine.contracts import (
    AcceptedOrder,
    DuplicateSubmission,
    IntakeAnswer,
    RejectedSubmission,
    Submission,
    Workflow,
)
from orders.models import Order, OrderLine, Product
from orders.workflow.description import BadDescriptionError, Description, as_json, parse

GUEST = "guest"
LARGEST_KEY = 2**31 - 1
"""The largest key of an account. A larger number would be an error in the database, not just an unknown account."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A submission whose body describes an order. `customer_id` is None for a guest."""

    submission: Submission
    order: Description
    customer_id: int | None


@dataclass(frozen=True, kw_only=True)
class OrderIntake:
    """The print shop's intake (see `orders.engine.contracts.Intake`). Its orders go through `workflow`."""

    workflow: Workflow

    def __call__(self, submissions: Sequence[Submission]) -> Sequence[IntakeAnswer]:
        """Answers each submission, in the order given, and inserts the orders that it accepts.

        Takes at most five statements for any number of submissions, inside the caller's transaction. Raises
        `IntegrityError` if another process inserts one of the orders at the same moment; on a retry it is a duplicate.
        """
        readings = [read_submission(submission) for submission in submissions]
        drafts = [draft for draft in readings if isinstance(draft, Draft)]
        known_ids = set(
            Order.objects.filter(pk__in={item.order_id for item in submissions}).values_list("pk", flat=True)
        )
        currencies = _currencies({line.sku for draft in drafts for line in draft.order.lines})
        customers = _customers({draft.customer_id for draft in drafts if draft.customer_id is not None})
        accepted: list[Draft] = []
        rejected: set[UUID] = set()
        answers: list[IntakeAnswer] = []
        for submission, draft in zip(submissions, readings, strict=True):
            answer = self._judge(submission, draft, currencies, customers)
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

    def _judge(
        self,
        submission: Submission,
        draft: Draft | RejectedSubmission,
        currencies: Mapping[str, str],
        customers: Container[int],
    ) -> IntakeAnswer:
        if isinstance(draft, RejectedSubmission):
            return draft
        if reason := mismatch(draft, currencies, customers):
            return RejectedSubmission(submission=submission, reason=reason)
        return AcceptedOrder(
            submission=submission,
            workflow=self.workflow,
            priority=draft.order.priority,
            reply_to=draft.order.reply_to,
            description=as_json(draft.order, order_id=str(submission.order_id)),
        )


def read_submission(submission: Submission) -> Draft | RejectedSubmission:
    """Reads a submission, or says why it can never become an order. Pure."""
    try:
        return Draft(
            submission=submission,
            order=parse(submission.body),
            customer_id=read_client(submission.client),
        )
    except BadDescriptionError as error:
        return RejectedSubmission(submission=submission, reason=str(error))


def read_client(client: str) -> int | None:
    """Returns the key in `user:<key>`, or None for `guest`. Raises `BadDescriptionError` for any other client."""
    if client == GUEST:
        return None
    kind, _, key = client.partition(":")
    if kind != "user" or not (key.isascii() and key.isdigit()) or len(key) > 10 or int(key) > LARGEST_KEY:
        raise BadDescriptionError(f"the client must be guest or user:<number>, not {client[:60]!a}.")
    return int(key)


def mismatch(draft: Draft, currencies: Mapping[str, str], customers: Container[int]) -> str | None:
    """Says what in a draft does not match the shop, in one sentence. Returns None if everything does. Pure.

    `currencies` has the currency of each product that exists, listed or not; `customers` has the accounts that exist.
    """
    for line in draft.order.lines:
        currency = currencies.get(line.sku)
        if currency is None:
            return f"unknown product {line.sku!a}."
        if currency != draft.order.currency:
            return f"the product {line.sku!a} is sold in {currency}, not in {draft.order.currency}."
    if draft.customer_id is not None and draft.customer_id not in customers:
        return f"unknown customer account {draft.customer_id}."
    return None


def _currencies(skus: set[str]) -> dict[str, str]:
    return dict(Product.objects.filter(pk__in=skus).values_list("sku", "currency"))


def _customers(keys: set[int]) -> set[int]:
    if not keys:
        return set()
    return set(get_user_model().objects.filter(pk__in=keys).values_list("pk", flat=True))


def _insert(drafts: Iterable[Draft]) -> None:
    orders, lines = [], []
    for draft in drafts:
        order_id, order = draft.submission.order_id, draft.order
        orders.append(
            Order(
                id=order_id,
                customer_id=draft.customer_id,
                email=order.email,
                currency=order.currency,
                total=order.total,
                ship_to=dict(order.ship_to),
                payment_method=order.payment_method,
                placed_at=order.placed_at,
            )
        )
        lines += [
            OrderLine(
                order_id=order_id,
                product_id=line.sku,
                title=line.title,
                quantity=line.quantity,
                unit_price=line.unit_price,
            )
            for line in order.lines
        ]
    Order.objects.bulk_create(orders)
    OrderLine.objects.bulk_create(lines)
