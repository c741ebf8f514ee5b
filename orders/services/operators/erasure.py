"""Makes everything that is stored about one customer anonymous, as one audited act. Orders keep their amounts.

An erasure goes in brief transactions, so it may take as long as it needs and locks nothing for long (docs/adr/0026).
`Erasure` keeps what it needs to go on: when its process dies its lease lapses, and the jobs continue it, or whoever
asks for it again.
"""

import hashlib
import json
import re
import time
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from orders.engine.runtime.brief_batches import Walk
from orders.engine.runtime.sql import database_now, fetch, run
from orders.fields.email import ERASED
from orders.models import Address, Erasure
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.erasing_orders import find_names, find_orders
from orders.services.operators.erasing_work import StuckErasureError, lease, release, work_on

PSEUDONYM = "erased-{}"
BRIEF_SECONDS = 8.0
"""How long a page works on an erasure. The jobs do the rest."""
JOB_SECONDS = 60.0
"""How long a job works on erasures."""


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What is stored about a customer: her finished orders, archived or not, those that are open, and her accounts."""

    finished: list[UUID]
    unfinished: list[UUID]
    accounts: list[int]


def find_holdings(email: str) -> Holdings:
    """What is stored about the customer with this email, in whatever case it was written."""
    accounts = list(User.objects.filter(email__iexact=email, is_staff=False).values_list("pk", flat=True))
    orders = find_orders(email, accounts)
    return Holdings(
        finished=sorted(order_id for order_id, is_finished in orders if is_finished),
        unfinished=sorted(order_id for order_id, is_finished in orders if not is_finished),
        accounts=accounts,
    )


def erase(
    *, email: str, actor: Actor, reason: str = "", dry_run: bool = False, seconds: float = BRIEF_SECONDS
) -> Result:
    """Erases a customer, and records it without her email. Refused while an order of hers is not finished.

    Works for about `seconds`, and leaves the rest to the jobs. Asked again meanwhile, it goes on.
    """
    if email.lower() == ERASED:  # what the orders of all erased customers have
        return already("Nothing is stored about this customer.")
    with transaction.atomic():
        fetch("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [_pseudonym(email)])
        erasure = Erasure.objects.filter(pseudonym=_pseudonym(email), finished_at=None).first()
        if erasure is None:
            holdings = find_holdings(email)
            result = _forecast(holdings)
            if dry_run or result.status is not ResultStatus.DONE:
                return result
            erasure = _begin(email, holdings, actor, reason)
    if dry_run:
        return done("The customer’s data would be erased: that has begun, and goes on.")
    return _go_on(erasure.pk, ends=time.monotonic() + seconds)


def continue_erasures(seconds: float = JOB_SECONDS) -> Walk:
    """Goes on with the erasures that nobody works on; returns how many it finished.

    One that fails does not stop the others. Raises `StuckErasureError` and database errors, afterwards.
    """
    ends = time.monotonic() + seconds
    unfinished = list(Erasure.objects.filter(finished_at=None).order_by("id").values_list("pk", flat=True))
    errors: list[Exception] = []
    for erasure_id in unfinished:
        try:
            _go_on(erasure_id, ends=ends)
        except (StuckErasureError, DatabaseError) as error:
            errors.append(error)
    if errors:
        raise errors[0]
    finished = Erasure.objects.filter(pk__in=unfinished).exclude(finished_at=None).count()
    return Walk(changed=finished, left_behind=0, after=None)


def _forecast(holdings: Holdings) -> Result:
    if holdings.unfinished:
        orders = ", ".join(str(order_id) for order_id in holdings.unfinished[:3])
        return refused(f"Nothing was erased: the customer has unfinished orders ({orders}).")
    if not holdings.finished and not holdings.accounts:
        return already("Nothing is stored about this customer.")
    counts = _counts(len(holdings.finished), len(holdings.accounts))
    return done(f"The customer’s data would be erased ({counts}). The orders’ amounts are kept.")


def _counts(orders: int, accounts: int) -> str:
    return f"orders: {orders}, accounts: {accounts}"


def _pseudonym(email: str) -> str:
    """A name for an erased customer that tells nobody who she was without the secret key."""
    text = f"{settings.SECRET_KEY}{email.lower()}"
    return PSEUDONYM.format(hashlib.sha256(text.encode()).hexdigest()[:12])


def _begin(email: str, holdings: Holdings, actor: Actor, reason: str) -> Erasure:
    """Records the act and what names the customer before anything is erased. Her accounts are closed at once."""
    users = User.objects.filter(pk__in=holdings.accounts)
    names = find_names(email, holdings.accounts)
    names |= {user.get_full_name() for user in users if user.first_name and user.last_name}
    for address in Address.objects.filter(user__in=users):
        names |= {address.name, address.street, address.line2, address.phone} - {""}
    users.update(is_active=False)
    short = _pseudonym(email)
    for term in sorted({email, *names} - {""}, key=len, reverse=True):
        reason = re.sub(re.escape(term), short, reason, flags=re.IGNORECASE)
    counts = _counts(len(holdings.finished), len(holdings.accounts))
    entry = audit.record(actor=actor, act="erase", target=short, result=f"Begun ({counts}).", reason=reason)
    return Erasure.objects.create(
        pseudonym=short, entry=entry.pk, email=email, terms=sorted(names), accounts=holdings.accounts
    )


def _go_on(erasure_id: int, *, ends: float) -> Result:
    if not lease(erasure_id):
        return done("The customer’s data is being erased by another process.")
    erasure = Erasure.objects.get(pk=erasure_id)
    if not work_on(erasure, ends=ends):
        release(erasure_id)
        return done(
            "The customer’s data is being erased. This continues in the background, and takes a few minutes."
        )
    return _finish(erasure_id)


def _finish(erasure_id: int) -> Result:
    """Completes the entry in the audit log. From here on nothing that is stored names the customer."""
    with transaction.atomic():
        erasure = Erasure.objects.select_for_update().get(pk=erasure_id)
        message = (
            f"The customer’s data was erased ({_counts(erasure.orders, len(erasure.accounts))},"
            f" other records: {erasure.mentions}). The orders’ amounts are kept."
        )
        if erasure.finished_at is not None:  # another process was faster
            return done("The customer’s data was erased. The orders’ amounts are kept.")
        report = {
            "orders": erasure.orders,
            "accounts": len(erasure.accounts),
            "other_records": erasure.mentions,
            "finished_at": str(database_now()),
        }
        run(
            "SELECT orders_audit_amend(id, actor, target, %s, reason, before, %s::jsonb) FROM orders_auditentry"
            " WHERE id = %s",
            [message, json.dumps(report), erasure.entry],
        )
        Erasure.objects.filter(pk=erasure_id).update(
            finished_at=Now(), email="", terms=[], accounts=[], walked={}
        )
    return done(message)
