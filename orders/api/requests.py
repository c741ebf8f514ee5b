"""What clients send: the body of an order, and the headers that control a response. It accepts nothing that the
submission process would set aside (`orders.business.submissions`).
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.utils.http import parse_etags
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework.exceptions import NotAuthenticated, ValidationError
from rest_framework.request import Request

from orders.access import api_versions
from orders.access.api_versions import Version
from orders.access.levels import VIEW
from orders.api import scopes
from orders.api.fields import OneLine, Strict, Token, Whole
from orders.api.own_words import OwnWordsIn
from orders.api.problems import ProblemError, bad_values, invalid
from orders.api.repeated_headers import is_repeated
from orders.api.representations import order_url
from orders.api.schema import WORKFLOW
from orders.business import BadOrderError, OrderKind, registry
from orders.business.mistakes import merged
from orders.business.own_words import OwnWords
from orders.business.placing import (
    CannotBePlacedError,
    IntakePausedError,
    KeyReusedError,
    NewOrder,
    ReferenceTakenError,
)
from orders.business.submissions import DEFAULT_PRIORITY, LONGEST_SUBJECT, RESERVED, data_of
from orders.selectors.response_queues import queue_of
from orders.vocabulary import TokenScope

QUEUE_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}"
ROW = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*:")
IDEMPOTENCY_KEY = re.compile("[ -~]{1,255}")
SENT_KEY = "[!-~]([ -~]*[!-~])?"
"""The pattern of a key as a header has it, without the spaces around it."""
LONGEST_KEY = 255


KIND_HELP = "Which kind of order it is."


class SubjectText(OneLine):
    """What an order is about, for its client. It cannot be mistaken for a row of a business (`app.model:key`)."""

    default_error_messages = {
        "row": "This must not begin like app.model:key, which stands for a row of ours."
    }

    schema = {"pattern": f"^(?!{ROW.pattern}){OneLine.schema['pattern'][1:]}"}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if ROW.match(text):
            self.fail("row")
        return text


class WorkflowName(OneLine):
    """The name of one workflow, as the OpenAPI document says it. Only orders of the default kind need not have it."""

    schema: Mapping[str, Any] = {}

    def __init__(self, name: str, *, is_default: bool) -> None:
        options = {"default": name} if is_default else {}
        help_text = f"{KIND_HELP} An order that names none is of this one." if is_default else KIND_HELP
        super().__init__(help_text=help_text, **options)
        extend_schema_field({"type": "string", WORKFLOW: name})(self)  # type: ignore[type-var]


class CommonIn(OwnWordsIn):
    """What every order may have. `workflow` names its kind, `reply_to` a response queue."""

    workflow = OneLine(default="", help_text=KIND_HELP)
    subject = SubjectText(
        max_length=LONGEST_SUBJECT, default="", help_text="What the order is about, in your own words."
    )
    priority = Whole(
        min_value=0,
        max_value=9,
        default=DEFAULT_PRIORITY,
        help_text=(
            "Orders with priority 9 go first, but every fourth turn goes to those that have waited longest. "
            f"A priority above {DEFAULT_PRIORITY} needs a token with the scope `priority`."
        ),
    )
    reply_to = Token(
        pattern=QUEUE_NAME,
        message="This must be 1 to 64 letters, digits, dots, underscores or hyphens, and not begin with a dot.",
        max_length=64,
        default="",
    )


class FreeIn(CommonIn):
    """What every order may have, beside data that its kind reads."""

    takes_others = True


@cache
def body_of(name: str) -> type[Strict] | None:
    """The serializer of the whole body of an order of this kind; None if the kind has none for its own part."""
    kind = registry.find_kind(name)
    own = kind.serializer() if kind else None
    if own is None:
        return None
    members = {"__doc__": own.__doc__, "__module__": own.__module__}
    return type(f"New{own.__name__}", (own, CommonIn), members)


def order_bodies() -> list[type[Strict]]:
    """What the OpenAPI document says of the body of a new order: the bodies of the kinds that are open to clients."""
    return [_documented(kind) for kind in _open_kinds()] or [CommonIn]


ORDER_SCHEMA = PolymorphicProxySerializer(
    component_name="NewOrder", serializers=order_bodies, resource_type_field_name=None
)


def _open_kinds() -> list[type[OrderKind]]:
    return [kind for kind in registry.kinds() if kind.is_open_to_clients]


def _documented(kind: type[OrderKind]) -> type[Strict]:
    """The body of an order of this kind, with the name of its workflow, which only orders of another kind need."""
    own = body_of(kind.name)
    free = f"A new order of the workflow {kind.name}. Its other members are its data, as that workflow takes them."
    workflow = WorkflowName(kind.name, is_default=kind is registry.default_kind())
    members = {"__doc__": own.__doc__ if own else free, "__module__": __name__, "workflow": workflow}
    name = "".join(part.capitalize() for part in re.split(r"\W+", kind.name))
    return type(f"New{name}", (own or FreeIn,), members)


def client_id(request: Request) -> int:
    """The ID of the account that the request's token belongs to. Raises `NotAuthenticated`."""
    account_id = request.user.pk
    if account_id is None:
        raise NotAuthenticated
    return account_id


def reader_id(token: Any) -> int | None:
    """The account whose orders a token may read. None for an operator's token, which reads everybody's: it has the
    scope `operate`, and its account may view the console."""
    reads_all = TokenScope.OPERATE in token.scopes and token.user.has_perm(VIEW)
    return None if reads_all else token.user.pk


def read_order(request: Request, body: Any) -> NewOrder:
    """The order in a request's body, or in a part of it.

    Raises `ValidationError`, and `MissingScopeError` if the client may not place such an order.
    """
    order = order_in(body, account_id=client_id(request), version=request.api_version)  # type: ignore[attr-defined]
    if scope := scope_needed(order):
        scopes.require(request, scope)
    return order


def scope_needed(order: NewOrder) -> TokenScope | None:
    """The scope that an order needs beside the one that every order needs."""
    return TokenScope.PRIORITY if order.priority > DEFAULT_PRIORITY else None


def order_in(body: Any, *, account_id: int, version: Version | None = None) -> NewOrder:
    """The order that an account asks for, by a version of the API; by the newest without one. Its response queue
    belongs to the account. Raises `ValidationError`."""
    kind = kind_of(body)
    serializer = body_of(kind.name)
    is_newest = version is None or version == api_versions.newest()
    if serializer is None:
        order = _read_free(kind, body)
    else:
        order = _read_whole(kind, serializer, body) if is_newest else serializer.read(body)
    original = None if serializer else data_of(body)
    common = {name: order.pop(name) for name in ("workflow", "subject", "priority", "reply_to")}
    words = OwnWords(reference=order.pop("reference"), metadata=order.pop("metadata"))
    reply_to = queue_of(account_id, common["reply_to"]) if common["reply_to"] else ""
    if version is not None and not is_newest:
        order, original = dict(kind.update_request(order, version.name)), original or order
    return NewOrder(
        kind=kind,
        request=order,
        original=original,
        subject=common["subject"],
        priority=common["priority"],
        reply_to=reply_to,
        words=words,
        tells_customer=kind.tells_customers_of_clients,
    )


def kind_of(body: object) -> type[OrderKind]:
    """The kind of order that a body asks for. Raises `ValidationError` if clients may place none of it."""
    name = body.get("workflow") if isinstance(body, Mapping) else None
    kind = (
        registry.default_kind() if name is None else registry.find_kind(name if isinstance(name, str) else "")
    )
    if kind is None or not kind.is_open_to_clients:
        names = ", ".join(sorted(kind.name for kind in _open_kinds()))
        allowed = f" This must be one of {names}." if names else ""
        raise ValidationError({"workflow": [f"There is no such workflow.{allowed}"]})
    return kind


def _read_whole(kind: type[OrderKind], serializer: type[Strict], body: Any) -> dict[str, Any]:
    """An order of a kind with a serializer. Raises `ValidationError` with all mistakes, also those that would be found
    once the others are gone."""
    try:
        values: dict[str, Any] = serializer.read(body)
    except ValidationError as error:
        if not isinstance(body, Mapping):
            raise
        raise ValidationError(merged(error.detail, kind.find_mistakes(body))) from error
    return values


def _read_free(kind: type[OrderKind], body: Any) -> dict[str, Any]:
    """An order of a kind without a serializer: what every order may have, and data that its kind reads."""
    if not isinstance(body, Mapping):
        raise ValidationError("This must be an object.")
    common = CommonIn.read({name: value for name, value in body.items() if name in RESERVED})
    try:
        return {**kind.accept(data_of(body)), **common}
    except BadOrderError as error:
        raise bad_values(error) from error


def refusal(error: Exception) -> Exception:
    """What tells the client why its order is refused; an error that is none of those stays as it is."""
    if isinstance(error, IntakePausedError):
        return ProblemError("intake_paused", wait=error.wait)
    if isinstance(error, CannotBePlacedError):
        return ValidationError(error.mistakes)
    if isinstance(error, BadOrderError):
        return bad_values(error)
    if isinstance(error, KeyReusedError):
        return ProblemError("idempotency_key_reused")
    if isinstance(error, ReferenceTakenError):
        first = {"id": str(error.order_id), "url": order_url(error.order_id)}
        return ProblemError("reference_taken", members={"order": first})
    return error


def read_idempotency_key(request: Request) -> str | None:
    """The `Idempotency-Key` header, if there is one. Raises `ProblemError`, also if there are two."""
    key = request.headers.get("Idempotency-Key")
    if is_repeated(request, "Idempotency-Key"):
        raise invalid("There is more than one. Send one key for one order.", header="Idempotency-Key")
    if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
        raise invalid("This must be 1 to 255 printable ASCII characters.", header="Idempotency-Key")
    return key


def read_known_versions(request: Request) -> set[str] | None:
    """The versions in `If-None-Match`, which the client has; `*` stands for any. None without the header."""
    header = request.headers.get("If-None-Match")
    if header is None:
        return None
    return versions_in(header)


def versions_in(header: str) -> set[str]:
    """The versions in the value of `If-None-Match`."""
    return {etag.removeprefix("W/").strip('"') for etag in parse_etags(header)}


def etag(version: str) -> str:
    """The ETag of a version. It is weak because the same version may be sent as different bytes."""
    return f'W/"{version}"'
