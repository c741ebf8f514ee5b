"""`manage.py start_order WORKFLOW --data JSON`: starts an order of any kind."""

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.db import transaction
from rest_framework.exceptions import ValidationError

from orders.business import BadOrderError, OrderKind, registry
from orders.business.own_words import OwnWords
from orders.business.placing import (
    CannotBePlacedError,
    KeyReusedError,
    NewOrder,
    ReferenceTakenError,
    own_key,
    post_order,
)
from orders.business.submissions import DEFAULT_PRIORITY, GUEST
from orders.management.operator_command import DONE, ActingCommand, Stop, operator_name
from orders.services import audit
from orders.services.audit import Actor


class Command(ActingCommand):
    help = (
        "Start an order of a workflow, and print its id. The data are what a REST client would send. Exit codes:"
        " 0 started, now or before with the same key; 2 wrong use, or data that do not describe an order."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workflow", help="the name of a workflow")
        parser.add_argument("--data", default="{}", help="a JSON object; @FILE reads it from a file")
        parser.add_argument("--subject", default="", help="what the order is about")
        parser.add_argument("--key", default="", help="starts the order once, however often this is repeated")
        parser.add_argument(
            "--reference", default="", help="a name of your own for the order; no other has it"
        )
        parser.add_argument(
            "--metadata",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a text to keep with it; repeat",
        )
        parser.add_argument(
            "--priority", type=int, default=DEFAULT_PRIORITY, help="0 to 9, the highest first"
        )
        parser.add_argument("--customer", help="the name of the account that it belongs to")

    def work(self, options: dict[str, Any]) -> int:
        kind = registry.find_kind(options["workflow"])
        if kind is None:
            names = ", ".join(kind.name for kind in registry.kinds())
            raise Stop(f"there is no workflow {options['workflow']!r}; the workflows are {names}")
        actor = Actor(name=options["by"] or operator_name())
        try:
            with transaction.atomic():
                order_id = _start(kind, _read_data(options["data"]), options)
                audit.record(
                    actor=actor,
                    act="start order",
                    target=f"order {order_id}",
                    after={"workflow": kind.name, "subject": options["subject"]},
                )
        except (BadOrderError, CannotBePlacedError, KeyReusedError, ReferenceTakenError) as error:
            raise Stop(str(error)) from None
        except ValidationError as error:
            raise Stop(f"the data do not describe an order: {json.dumps(error.detail)}") from None
        self.stdout.write(str(order_id))
        return DONE


def _start(kind: type[OrderKind], data: dict[str, Any], options: dict[str, Any]) -> Any:
    order = NewOrder(
        kind=kind,
        request=kind.accept(data),
        subject=options["subject"],
        priority=options["priority"],
        words=OwnWords(
            reference=options["reference"],
            metadata=dict(pair.partition("=")[::2] for pair in options["metadata"]),
        ),
    )
    client = _client(options["customer"])
    return post_order(client=client, order=order, key=own_key(kind, options["key"])).order_id


def _client(name: str | None) -> str:
    if name is None:
        return GUEST
    account = User.objects.filter(username=name).first()
    if account is None:
        raise Stop(f"there is no account {name!r}")
    return f"user:{account.pk}"


def _read_data(text: str) -> dict[str, Any]:
    """The object in the text, or in the file that it names."""
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text()
        data = json.loads(text)
    except (OSError, ValueError) as error:
        raise Stop(f"--data is not a JSON object: {error}") from None
    if not isinstance(data, dict):
        raise Stop("--data must be a JSON object")
    return data
