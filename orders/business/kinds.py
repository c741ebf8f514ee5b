"""A kind of order: the workflow that its orders go through, in all its versions, and what people see of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Model

from orders.business.fields import Attribute, Field, ResultFact
from orders.business.lines import Line, LineName, LinePicture
from orders.business.own_words import NO_WORDS, OwnWords
from orders.business.reading import BadOrderError
from orders.business.runbooks import Runbook
from orders.business.submissions import DEFAULT_PRIORITY, GUEST
from orders.business.sum_rows import SumRow
from orders.business.updates import OrderUpdate
from orders.business.words import CustomerWords
from orders.engine.contracts import Json, Workflow
from orders.engine.intakes import Submission
from orders.engine.moving import Move
from orders.fields.money import Money
from sasweb.environment import Environment


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What people see of an order. It is read from the order's data when the order is inserted, and stored.

    `title` says what the order is in a few words. `email` is where its customer is written to. `promised_by` is when
    the customer expects it to be done. `attributes` are values by the names of the kind's attributes.
    """

    title: str = ""
    value: Money | None = None
    email: str = ""
    promised_by: datetime | None = None
    lines: Sequence[Line] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A submission that describes an order. `data` are what `OrderKind.read` made of it.

    `customer_id` is the customer's account; None for a guest, and for an order that no customer placed.
    """

    submission: Submission
    kind: "type[OrderKind]"
    subject: str
    data: Json
    profile: Profile
    priority: int
    reply_to: str
    placed_at: datetime
    customer_id: int | None
    words: OwnWords = NO_WORDS
    tells_customer: bool = False

    @property
    def order_id(self) -> UUID:
        """The order's id."""
        return self.submission.order_id


@dataclass(frozen=True, kw_only=True)
class ClientLink:
    """Where REST clients change what a declined step asks for. `url` is the name of its url in `api_urls`, as in
    `order-payment`, and `fields` are the names of the order's fields that are changed there."""

    url: str
    fields: Sequence[str]


class OrderKind:
    """A kind of order. A business declares one for each name of a workflow, as a subclass in its `workflows.py`.

    Nobody makes instances of it. Only `name`, `versions` and `read` have to be declared; the rest is for people.
    """

    name: ClassVar[str]
    """The name of its workflow, for good: it is stored with every order."""
    label: ClassVar[str] = ""
    """What people call such an order, in lower case: "print order". Its name, if it has none."""
    fields: ClassVar[Sequence[Field]] = ()
    """What operators may edit of an order: names in its data. A step names those that its request has, under the same
    names, in `Step.editable`."""
    customer_fields: ClassVar[Sequence[Field]] = ()
    """What only customers may change of an order, beside `fields`, under the names in `Step.customer_editable`."""
    texts: ClassVar[Sequence[Field]] = ()
    """What else operators read of an order's data and cannot edit, such as a note, if it is there."""
    attributes: ClassVar[Sequence[Attribute]] = ()
    """What its orders are searched by, beside their id, title, email, value and lines."""
    customer_words: ClassVar[CustomerWords] = CustomerWords()
    """What its customers see of it, and in which words."""
    runbooks: ClassVar[Mapping[str, Runbook]] = {}
    """What operators read about the error codes of its agents and remote services, by code. It goes before what the
    product itself says of the same code."""
    templates: ClassVar[str] = ""
    """The folder of its own templates of an order's page, which extend those of the same names in `order`:
    `page.html`, `progress.html` and `cancel.html`. Any of them may be missing."""
    updates: ClassVar[Collection[OrderUpdate]] = frozenset(OrderUpdate)
    """What its customers are told by email, unless they see it on the order's page. Of an order whose workflow sends a
    notice of its own when it is cancelled (`Compensation.NOTICE`), they are not told that a second time."""
    tells_customers_of_clients: ClassVar[bool] = False
    """Whether that holds of orders that REST clients place, too. The email of such an order may be its client's own."""
    notices_have_link: ClassVar[bool] = False
    """Whether the notices of its workflow (`Compensation.NOTICE`) are emails that lead a guest to her order. Once she
    has had one, she is not sent the first email with her link any more. A notice that had to go without says so in its
    result: `{"has_link": False}`."""
    is_open_to_clients: ClassVar[bool] = False
    """Whether REST clients may order it. Those who are not asked for it cannot see that there is such a kind."""
    client_links: ClassVar[Mapping[str, ClientLink]] = {}
    """Where REST clients change what a declined step asks for, by the names of links, as in `payment`. An order has a
    link while its customer may change all of the link's fields."""
    client_results: ClassVar[Collection[str]] = ()
    """The steps of whose results REST clients see something (`client_values`), by their names."""
    has_older_fingerprints: ClassVar[bool] = False
    """Whether its idempotency keys were used before there were several kinds, so that their records lack its name."""
    personal: ClassVar[Sequence[str]] = ()
    """Where its data name a person, as in `ship_to.name`: what is replaced everywhere when a customer is erased."""
    names: ClassVar[Sequence[str]] = ()
    """Where its data have the names of persons by which operators find the order, as in `ship_to.name`."""

    moves: ClassVar[Sequence[Move]] = ()
    """How unfinished orders may move from one version to a later one. None moves by itself: an operator moves them."""

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        """Returns the workflow in every version that orders may still be on, the newest last: new orders take that."""
        raise NotImplementedError

    @classmethod
    def read(cls, data: Json) -> Json:
        """Returns the data that the steps read, checked. Raises `BadOrderError` if they do not describe an order.

        Pure, and strict: any application may post to the submission queue. Fields that it does not know are left out.
        """
        raise NotImplementedError

    @classmethod
    def profile(cls, data: Json, *, placed_at: datetime) -> Profile:
        """Returns what people see of an order with these data, which `read` has checked. Pure."""
        return Profile()

    @classmethod
    def serializer(cls) -> type[Any] | None:
        """Returns the Django REST framework serializer of what clients send, a subclass of `orders.api.fields.Strict`.

        It checks their orders and documents them. With None, they send what `read` accepts.
        """
        return None

    @classmethod
    def accept(cls, body: Json) -> Json:
        """Returns what a client asks for with this body, checked. Raises `BadOrderError`, or `ValidationError` of
        Django REST framework if there is a serializer."""
        serializer = cls.serializer()
        request: Json = serializer.read(body) if serializer else cls.read(body)
        return request

    @classmethod
    def update_request(cls, request: Json, version: str) -> Json:
        """Returns what a client asks for with this request, checked, that was made by an older version of the REST API:
        a request that `describe` treats as that version promised. `version` is its name, such as "2026-11-26"."""
        return request

    @classmethod
    def describe(cls, request: Json) -> Json:
        """Returns the data of an order that is placed now, such as with today's prices. May look things up.

        Raises `CannotBePlacedError` if it cannot be placed today.
        """
        return request

    @classmethod
    def describe_all(cls, requests: Sequence[Json]) -> Sequence[Json | Exception]:
        """Does the same for many orders, in the order given: the data of each, or the error of one that cannot be
        placed. A kind that looks things up should look them up once for all."""
        return [_described(cls, request) for request in requests]

    @classmethod
    def describes_together(cls) -> bool:
        """Whether many orders are described as fast as one: `describe_all` is the kind's own, or there is nothing to
        describe. Only then do clients' orders that arrive at the same moment wait for one another."""
        is_own = cls.describe_all.__func__ is not OrderKind.describe_all.__func__  # type: ignore[attr-defined]
        is_plain = cls.describe.__func__ is OrderKind.describe.__func__  # type: ignore[attr-defined]
        return is_own or is_plain

    @classmethod
    def read_field(cls, name: str, value: object) -> Any:
        """Reads the new value of a field that an operator has edited, as strictly as `read`. Raises `BadOrderError`."""
        raise BadOrderError(f"{name} cannot be edited.", where=name)

    @classmethod
    def accept_changes(cls, changes: Json) -> Json:
        """Returns the new values of fields that a client has sent to correct an order. Raises `BadOrderError`, or
        `ValidationError` of Django REST framework."""
        return {name: cls.read_field(name, value) for name, value in changes.items()}

    @classmethod
    def find_mistakes(cls, body: Json) -> Json:
        """Returns what else is wrong with a client's body that the kind's `serializer` refuses, so that she reads of
        everything at once: at its place, as in `CannotBePlacedError`. May look things up. The body may be anything."""
        return {}

    @classmethod
    def edit(cls, data: Json, changes: Json) -> Json:
        """Returns an order's data with these new values of its fields, each of which `read_field` has read. Pure.

        `read` then checks the whole, so a kind whose data hold what follows from a field, such as a total, computes
        that here. Raises `BadOrderError`.
        """
        return {**data, **changes}

    @classmethod
    def correct(cls, data: Json, changes: Json) -> Json:
        """Does the same for what a customer corrects herself, who sees another value first and agrees to it. May look
        things up, such as what delivery to another country costs."""
        return cls.edit(data, changes)

    @classmethod
    def check_correction(cls, refusal: Json, changes: Json, *, before: Json, after: Json) -> None:
        """Refuses a customer's correction that a service would refuse as it just has, in the `refusal`: its `code` and
        perhaps a `detail`, which may be anything. `changes` are what she has sent, and lead from the data `before` to
        those `after`. Pure. Raises `RefusedAgainError`."""

    @classmethod
    def find_skus(cls, words: str, most: int) -> Sequence[str]:
        """Returns the codes of what these words name, such as of products with them in their titles, `most` at most."""
        return [words]

    @classmethod
    def line_names(cls, skus: Sequence[str]) -> Mapping[str, LineName]:
        """Returns what pages and emails call what these codes name, by their codes; a line that has no name here is
        called by its title. May look things up."""
        return {}

    @classmethod
    def pictures(cls, skus: Sequence[str], *, width: int) -> Mapping[str, LinePicture]:
        """Returns pictures of what these codes name, by their codes, for emails; none of what has no picture. They are
        `width` pixels wide, as an email carries them. May look things up."""
        return {}

    @classmethod
    def email_facts(cls, data: Json, *, on_course_since: datetime | None) -> Sequence[tuple[str, str]]:
        """Returns what is said of an order besides its lines and number, such as where it goes, in the emails of
        the outbox and in the question whether it is to be changed: labels with what they stand for, in the active
        language. `on_course_since` is when it was placed; None where nothing is to be said of when it is done, as
        while it is held up. The data may be anything."""
        return ()

    @classmethod
    def sum_rows(cls, data: Json) -> Sequence[SumRow]:
        """Returns what stands between the lines of an order and its total, in the active language. The data may be
        anything."""
        return ()

    @classmethod
    def client_members(cls) -> Mapping[str, Any]:
        """Returns what REST clients see of an order, and of a quote for one, beside the members that every one has: by
        their names, fields of the REST framework, such as subclasses of `orders.api.representations.Out`."""
        return {}

    @classmethod
    def order_members(cls) -> Mapping[str, Any]:
        """Returns the same for what only an order has, and no quote: what comes of the results of its steps."""
        return {}

    @classmethod
    def client_values(cls, data: Json, results: Mapping[str, Json]) -> Mapping[str, Any]:
        """Returns what these members are made of for one order; one without a value is left out. The data may be
        anything. `results` are those of `client_results` that are completed, by their steps, as their agents have
        returned them."""
        return {}

    @classmethod
    def describe_result(cls, step: str, result: Json) -> Sequence[ResultFact]:
        """Returns what operators read of the result of a step that is done, among the order's facts. The result is what
        the agent has returned, whatever that is."""
        return ()

    @classmethod
    def refuse(cls, drafts: Sequence[Draft]) -> Sequence[str | None]:
        """Says of each of these orders, in the order given, why it can never be fulfilled, in one sentence for an
        operator; None of one that can.

        Called with many at once, inside the transaction that inserts them: one query for all, if any.
        """
        return [None] * len(drafts)

    @classmethod
    def insert(cls, drafts: Sequence[Draft]) -> None:
        """Inserts the business's own rows of orders that have just been inserted, in the same transaction."""

    @classmethod
    def start(
        cls,
        subject: str | UUID | Model,
        data: Json,
        *,
        key: str = "",
        customer_id: int | None = None,
        priority: int = DEFAULT_PRIORITY,
        reply_to: str = "",
        reference: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> UUID:
        """Starts an order of this kind, in the caller's transaction if there is one, and returns its id.

        With the transaction's other rows it is there as a whole or not at all. `subject` is what the order is about: a
        row of the business's own, or a text of at most 120 characters. The same `key` starts it once, however often
        this is called. `reference` is the client's own name for the order, and `metadata` are up to 20 texts of its
        own. Raises `BadOrderError`, `KeyReusedError` if the key has started a different order, and
        `ReferenceTakenError` if the customer, or without one the installation, has an order with that reference.
        """
        client = GUEST if customer_id is None else f"user:{customer_id}"
        from orders.business import placing  # noqa: PLC0415 - it needs the tables, and declarations are pure

        return placing.start(
            cls,
            subject,
            data,
            client=client,
            key=key,
            priority=priority,
            reply_to=reply_to,
            words=OwnWords(reference=reference, metadata=metadata or {}),
        )


def _described(kind: type[OrderKind], request: Json) -> Json | Exception:
    try:
        return kind.describe(request)
    except Exception as error:  # noqa: BLE001 - of this order, whatever it is; the others go on
        return error
