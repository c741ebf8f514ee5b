"""Makes everything that is stored about one customer anonymous, as one audited act. Orders keep their amounts."""

import hashlib
import re
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from knox.models import get_token_model

from orders.engine.runtime.sql import fetch, run
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused

ERASED = "erased@erased.invalid"
ACCOUNT = "erased-{}"
STATEMENTS = (
    """UPDATE orders_order SET email = %(erased)s, payment_method = 'erased',
              ship_to = jsonb_build_object('country', ship_to -> 'country') WHERE id = ANY(%(ids)s)""",
    """UPDATE orders_stepstate SET request = '{}', original = NULL, result = NULL, error = NULL
        WHERE order_id = ANY(%(ids)s)""",
    "UPDATE orders_event SET detail = '{}' WHERE order_id = ANY(%(ids)s)",
    "UPDATE orders_statusmessage SET body = '{}' WHERE order_id = ANY(%(ids)s)",
    "UPDATE orders_alert SET message = 'erased' WHERE order_id = ANY(%(ids)s)",
    """UPDATE orders_setaside SET body = '{}', reason = 'erased' WHERE order_id = ANY(%(ids)s)""",
    """UPDATE orders_archivedorder SET email = %(erased)s, document = jsonb_build_object(
              'process', document -> 'process', 'lines', document -> 'lines',
              'order', (document -> 'order') || jsonb_build_object(
                  'email', %(erased)s::text, 'payment_method', 'erased',
                  'ship_to', jsonb_build_object('country', document #> '{order,ship_to,country}')),
              'steps', (SELECT coalesce(jsonb_agg(step || '{"request": {}, "original": null, "result": null,
                  "error": null}'), '[]') FROM jsonb_array_elements(document -> 'steps') AS step),
              'events', (SELECT coalesce(jsonb_agg(event || '{"detail": {}}'), '[]')
                  FROM jsonb_array_elements(document -> 'events') AS event),
              'statuses', '[]'::jsonb, 'alerts', '[]'::jsonb)
        WHERE order_id = ANY(%(ids)s)""",
    """UPDATE orders_outgoingmessage SET recipient = %(erased)s, arguments = '{}', error = ''
        WHERE lower(recipient) = lower(%(email)s) OR order_id = ANY(%(ids)s)""",
    """UPDATE orders_auditentry
          SET actor = regexp_replace(actor, %(pattern)s, %(short)s, 'gi'),
              target = regexp_replace(target, %(pattern)s, %(short)s, 'gi'),
              result = regexp_replace(result, %(pattern)s, %(short)s, 'gi'),
              reason = regexp_replace(reason, %(pattern)s, %(short)s, 'gi'),
              before = regexp_replace(before::text, %(pattern)s, %(short)s, 'gi')::jsonb,
              after = regexp_replace(after::text, %(pattern)s, %(short)s, 'gi')::jsonb
        WHERE concat(actor, target, result, reason, before, after) ~* %(pattern)s""",
)


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What is stored about a customer: her finished orders, archived or not, those that are open, and her account."""

    finished: list[UUID]
    unfinished: list[UUID]
    accounts: list[int]


def find_holdings(email: str) -> Holdings:
    """What is stored about the customer with this email, in whatever case it was written."""
    User = get_user_model()
    accounts = list(User.objects.filter(email__iexact=email, is_staff=False).values_list("pk", flat=True))
    rows = fetch(
        """
        SELECT o.id, coalesce(p.process_state IN ('processed', 'compensated'), false)
          FROM orders_order AS o LEFT JOIN orders_orderprocess AS p ON p.order_id = o.id
         WHERE lower(o.email) = lower(%(email)s) OR o.customer_id = ANY(%(accounts)s)
         UNION ALL
        SELECT order_id, true FROM orders_archivedorder
         WHERE lower(email) = lower(%(email)s) OR customer_id = ANY(%(accounts)s)
         UNION ALL
        SELECT order_id, false FROM orders_submissionmessage WHERE lower(body ->> 'email') = lower(%(email)s)
         UNION ALL
        SELECT order_id, false FROM orders_setaside
         WHERE replayed_at IS NULL AND lower(body ->> 'email') = lower(%(email)s)
        """,
        {"email": email, "accounts": accounts},
    )
    return Holdings(
        finished=sorted(order_id for order_id, is_finished in rows if is_finished),
        unfinished=sorted(order_id for order_id, is_finished in rows if not is_finished),
        accounts=accounts,
    )


def erase(*, email: str, actor: Actor, reason: str = "", dry_run: bool = False) -> Result:
    """Erases a customer, and records it without her email. Refused while an order of hers is not finished."""
    if email.lower() == ERASED:  # what the orders of all erased customers have
        return already("Nothing is stored about this customer.")
    with transaction.atomic():
        holdings = find_holdings(email)
        result = _result(holdings, dry_run)
        if dry_run or result.status is not ResultStatus.DONE:
            return result
        _erase(email, holdings)
        pseudonym = _pseudonym(email)
        reason = re.sub(re.escape(email), pseudonym, reason, flags=re.IGNORECASE)
        audit.record(actor=actor, act="erase", target=pseudonym, result=result.message, reason=reason)
    return result


def _result(holdings: Holdings, dry_run: bool) -> Result:
    if holdings.unfinished:
        orders = ", ".join(str(order_id) for order_id in holdings.unfinished[:3])
        return refused(
            f"Nothing was erased, because {len(holdings.unfinished)} of the customer's orders"
            f" are not finished: {orders}."
        )
    if not holdings.finished and not holdings.accounts:
        return already("Nothing is stored about this customer.")
    erased = "would be erased" if dry_run else "were erased"
    counts = f"orders: {len(holdings.finished)}, accounts: {len(holdings.accounts)}"
    return done(f"The customer's data {erased} ({counts}). The orders' amounts are kept.")


def _pseudonym(email: str) -> str:
    """A name for an erased customer that tells nobody who she was without the secret key."""
    text = f"{settings.SECRET_KEY}{email.lower()}"
    return ACCOUNT.format(hashlib.sha256(text.encode()).hexdigest()[:12])


def _erase(email: str, holdings: Holdings) -> None:
    run("SET LOCAL sasweb.erasing = 'on'")
    values = {"ids": holdings.finished, "email": email, "erased": ERASED, "short": _pseudonym(email)}
    values["pattern"] = re.escape(email)
    for statement in STATEMENTS:
        run(statement, values)
    run("SET LOCAL sasweb.erasing = 'off'")
    for user in get_user_model().objects.filter(pk__in=holdings.accounts):
        user.addresses.all().delete()
        get_token_model().objects.filter(user=user).delete()
        user.username = ACCOUNT.format(f"{user.pk}-{_pseudonym(email)[-12:]}")
        user.email = user.first_name = user.last_name = ""
        user.is_active = False
        user.set_unusable_password()
        user.save()
