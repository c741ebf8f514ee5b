"""The OpenAPI document says what the API takes and sends, neither more nor less; `tests/fuzz` takes it at its word."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from django.conf import settings as project_settings
from drf_spectacular.generators import SchemaGenerator
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from orders.api.fields import (
    Digits,
    MailedText,
    Note,
    Number,
    NumberCursor,
    OneLine,
    OrderCursor,
    Prose,
    Strict,
    Text,
    Token,
    Whole,
)
from orders.api.own_words import Metadata, Reference
from orders.api.problems import PROBLEMS
from orders.api.requests import SubjectText
from orders.api.schema import ExactSchema
from orders.models import AlertGroup, Circuit, OutgoingMessage
from orders.outbox import approval_messages
from orders.outbox.alert_messages import compose
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.vocabulary import ApprovalAct, EventKind, StatusKind
from tests.support.factories import ahead, make_alert, make_order

OPERATIONS = ("get", "post", "delete")
OPTIONAL_BODIES = {
    *("take_alert_group", "snooze_alert_group", "wake_alert_group"),
    *("change_webhook", "lease_messages", "resubmit_step", "resubmit_alert_group", "resume_agent"),
    *("resubmit_order", "retry_order", "resume_order", "replay_submission", "preview_order_edit"),
    *("acknowledge_alert_group", "reopen_alert_group"),
    *("pause_bulk_action", "resume_bulk_action", "stop_bulk_action", "undo_bulk_action"),
    *(
        "unforce_circuit",
        "retry_outgoing_message",
        "decline",
        "withdraw",
        "resume_intake",
        "delete_view",
        "resume_step",
    ),
}


@pytest.fixture(scope="module")
def document() -> Mapping[str, Any]:
    generator: Any = SchemaGenerator()
    document: Mapping[str, Any] = json.loads(json.dumps(generator.get_schema(public=True), default=str))
    return document


@pytest.fixture(scope="module")
def operations(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Each operation, by its id."""
    return {
        operation["operationId"]: operation
        for path in document["paths"].values()
        for operation in path.values()
    }


def schema_of(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = document["components"]["schemas"][name]
    return schema


def texts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema of a string within a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "string":
            yield schema
        for inner in schema.values():
            yield from texts(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from texts(inner)


def test_it_is_of_this_release_and_this_installation(document: Mapping[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "0.1.0"
    assert document["servers"] == [{"url": project_settings.CONFIG.public_url}]


def test_each_of_its_schemas_is_one(document: Mapping[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        assert isinstance(schema.get("description", ""), str), name


def test_no_request_takes_members_that_it_does_not_name(document: Mapping[str, Any]) -> None:
    requests = {
        name: schema
        for name, schema in document["components"]["schemas"].items()
        if name.endswith("Request") and schema.get("type") == "object"
    }
    assert {name for name, schema in requests.items() if schema["additionalProperties"]} == set()
    assert {"NewFulfilOrderRequest", "AddressRequest", "ReasonRequest", "ResultRequest"} <= requests.keys()


def test_each_text_of_a_request_is_limited(document: Mapping[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Request"):
            for text in texts(schema):
                assert "enum" in text or ("maxLength" in text and "pattern" in text), (name, text)


def test_it_says_whether_there_must_be_a_body(operations: Mapping[str, Any]) -> None:
    bodies = {
        name: operation["requestBody"] for name, operation in operations.items() if "requestBody" in operation
    }
    assert {name for name, body in bodies.items() if not body.get("required")} == OPTIONAL_BODIES
    assert {"place_order", "answer_call", "decide", "pause_agent"} <= bodies.keys() - OPTIONAL_BODIES


def test_the_limits_of_a_new_order_are_there(document: Mapping[str, Any]) -> None:
    members = schema_of(document, "NewFulfilOrderRequest")["properties"]
    assert (members["lines"]["minItems"], members["lines"]["maxItems"]) == (1, 100)
    assert (members["priority"]["minimum"], members["priority"]["maximum"]) == (0, 9)
    assert members["workflow"]["enum"] == ["fulfil-order"]
    assert members["subject"]["default"] == ""
    assert "default" not in members["reply_to"]  # it refuses an empty text
    quantity = schema_of(document, "LineRequest")["properties"]["quantity"]
    assert (quantity["minimum"], quantity["maximum"]) == (1, 999)


def test_an_answer_is_either_a_result_or_a_refusal(document: Mapping[str, Any]) -> None:
    halves = [half["$ref"].rpartition("/")[2] for half in schema_of(document, "AnswerRequest")["oneOf"]]
    assert [schema_of(document, half)["required"] for half in halves] == [["result"], ["error"]]


def test_closed_sets_are_enumerations(document: Mapping[str, Any]) -> None:
    assert schema_of(document, "EventKind")["enum"] == list(EventKind)
    assert schema_of(document, "ActResult")["enum"] == ["done", "already"]
    assert schema_of(document, "Problem")["properties"]["code"]["enum"] == list(PROBLEMS)
    step = schema_of(document, "Step")["properties"]["name"]
    assert "capture-payment" in step["x-extensible-enum"]
    assert "enum" not in step  # another release may have other steps


def test_a_quote_has_only_the_members_that_it_may_have(document: Mapping[str, Any]) -> None:
    """The numbers of its prints are given to an order when its stock is reserved."""
    order, quote = (document["components"]["schemas"][name]["properties"] for name in ("Order", "Quote"))
    own = {"delivery", "tax", "editions"}
    assert (order.keys() & own, quote.keys() & own) == (own, {"delivery", "tax"})


def test_a_message_may_say_what_a_step_has_for_being_declined(document: Mapping[str, Any]) -> None:
    kind = schema_of(document, "Message")["properties"]["kind"]
    assert kind == {"type": "string", "x-extensible-enum": [*StatusKind, "payment_declined"]}


def test_it_says_plainly_what_may_be_null(document: Mapping[str, Any]) -> None:
    members = schema_of(document, "Order")["properties"]
    for name, component in (("waiting_for", "WaitingFor"), ("total", "Money")):
        assert members[name] == {"anyOf": [{"$ref": f"#/components/schemas/{component}"}, {"type": "null"}]}
    assert "NullEnum" not in document["components"]["schemas"]


def test_no_tag_has_both_operations_and_webhooks(document: Mapping[str, Any]) -> None:
    operations, webhooks = (
        {tag for path in document[part].values() for operation in path.values() for tag in operation["tags"]}
        for part in ("paths", "webhooks")
    )
    assert webhooks
    assert operations & webhooks == set()  # openapi-generator makes a class of each, and the last one stays


def test_every_operation_with_a_body_may_refuse_its_size_and_type(operations: Mapping[str, Any]) -> None:
    with_body = {name for name, operation in operations.items() if "requestBody" in operation}
    assert {name for name, operation in operations.items() if "413" in operation["responses"]} == with_body
    assert {name for name, operation in operations.items() if "415" in operation["responses"]} == with_body
    assert "401" not in operations["answer_call"]["responses"]  # it takes no token
    assert not {"403", "404"} & operations["list_products"]["responses"].keys()


def test_every_operation_lists_what_the_server_below_may_refuse(operations: Mapping[str, Any]) -> None:
    for name, operation in operations.items():
        below = {"400", "414", "431", "500", "503"}
        below |= {"408", "501"} if "requestBody" in operation else set()
        assert below <= operation["responses"].keys(), name
    too_long = operations["list_changes"]["responses"]["414"]["content"]["application/problem+json"]
    assert too_long["examples"].keys() == {"url_too_long"}


def test_no_two_operations_have_the_same_summary(operations: Mapping[str, Any]) -> None:
    summaries = [operation["summary"] for operation in operations.values()]
    assert sorted(summaries) == sorted(set(summaries))


def test_every_answer_has_the_id_of_its_request(operations: Mapping[str, Any]) -> None:
    answers = [answer for operation in operations.values() for answer in operation["responses"].values()]
    assert all(answer["headers"]["X-Request-ID"] for answer in answers)


@pytest.mark.django_db
def test_the_webhook_is_what_the_outbox_posts(document: Mapping[str, Any], settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url="https://chat.example.com/hook")
    make_alert(make_order({"mix": "failed"}, process_state="error").order_id)
    (call,) = compose(
        OutgoingMessage(group=AlertGroup.objects.get(), channel="webhook", arguments={"alerts": 1})
    )
    body = json.loads(json.dumps(call.body))
    webhook = document["webhooks"]["alert"]["post"]
    root = {
        "components": document["components"],
        **webhook["requestBody"]["content"]["application/json"]["schema"],
    }
    jsonschema_rs.validator_for(root).validate(body)
    notice = schema_of(document, "AlertNotice")
    assert notice["properties"].keys() == body.keys() == set(notice["required"])
    assert {parameter["name"]: parameter["required"] for parameter in webhook["parameters"]} == {
        "webhook-id": True,
        "webhook-timestamp": True,
        "webhook-signature": False,
        "Idempotency-Key": True,
    }


@pytest.mark.django_db
def test_the_webhook_of_approvals_is_what_the_outbox_posts(
    document: Mapping[str, Any], settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url="https://chat.example.com/hook")
    Circuit.objects.create(agent="carrier", forced="open", forced_until=ahead(900))
    approvals.ask(
        act=ApprovalAct.UNFORCE_CIRCUIT, parameters={"agent": "carrier"}, actor=Actor(name="bob"), reason=""
    )
    (call,) = approval_messages.compose(OutgoingMessage.objects.get())
    webhook = document["webhooks"]["approval"]["post"]
    schema = webhook["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.validator_for({"components": document["components"], **schema})
    validator.validate(body := json.loads(json.dumps(call.body)))
    notice = schema_of(document, "ApprovalNotice")
    assert notice["properties"].keys() == body.keys() == set(notice["required"])


class Everything(Strict):
    """One of each of our fields."""

    text = Text(max_length=5)
    line = OneLine(max_length=5)
    prose = Prose(max_length=5)
    note = Note(max_length=5)
    mailed = MailedText(max_length=5)
    token = Token(pattern="[a-z]{2,3}|x", message="No.", max_length=3)
    subject = SubjectText(max_length=9)
    whole = Whole(min_value=1, max_value=9)
    number = Number(min_value=0.5, max_value=9)
    reference = Reference()


VALUES = [
    *(
        "",
        " ",
        "a",
        "ab",
        "abcd",
        "abcde",
        "abcdef",
        "x",
        "ax",
        "é",
        "a b",
        " a",
        "a ",
        "a\tb",
        "a\nb",
        "a\n",
    ),
    *("\u0085", "\u00a0", "a\u2028", "\u00ad", "a.b:c", "a.b:", "A.b:c", "_.x_1:", "1.b:c", "☂" * 5, "☂" * 6),
    *("é" * 120, "é" * 121),
    *(0, 1, 9, 10, 1.0, 1.5, 1e300, -1, True, False, None, [], {}, ["a"], {"a": 1}, "1"),
]


@pytest.mark.parametrize("name", Everything().fields)
def test_a_fields_schema_takes_exactly_what_the_field_takes(name: str) -> None:
    field = Everything().fields[name]
    schema = described(field)
    validator = jsonschema_rs.validator_for(schema)
    assert [validator.is_valid(value) for value in VALUES] == [takes(field, value) for value in VALUES], (
        schema
    )


QUERIES = ["", "0", "7", "0007", "-1", "1" * 18, "1" * 19, "x", "9" * 18, "1-" + "a" * 32, "-5-" + "0" * 32]


@pytest.mark.parametrize("field", [NumberCursor(), OrderCursor()], ids=["number", "order"])
def test_a_cursors_schema_takes_exactly_what_the_field_takes(field: serializers.Field) -> None:
    texts_of_cursors = [*QUERIES, "9" * 18 + "-" + "f" * 32, "-" + "9" * 18 + "-" + "f" * 32]
    validator = jsonschema_rs.validator_for(described(field))
    assert [validator.is_valid(text) for text in texts_of_cursors] == [
        takes(field, text) for text in texts_of_cursors
    ]


def test_the_schema_of_metadata_takes_exactly_what_the_field_takes(document: Mapping[str, Any]) -> None:
    values: list[Any] = [
        *({"a": text} for text in ("", "a\nb", "é" * 500, "é" * 501, "a\0b", 1, None)),
        *({name: "b"} for name in ("", " ", "é" * 40, "é" * 41, "a\nb", "a.b]")),
        *({str(number): "" for number in range(count)} for count in (20, 21)),
        *({}, [], "a", None, 7),
    ]
    validator = jsonschema_rs.validator_for(schema_of(document, "Metadata"))
    assert [validator.is_valid(value) for value in values] == [takes(Metadata(), value) for value in values]


def described(field: serializers.Field) -> dict[str, Any]:
    """What the document says of a field of a request."""
    mapper: Any = ExactSchema()
    schema = mapper._map_serializer_field(field, "request")
    mapper._insert_field_validators(field, schema)
    described: dict[str, Any] = schema
    return described


def takes(field: serializers.Field, value: object) -> bool:
    """Whether a field takes a value that a client sends."""
    try:
        field.run_validation(value)
    except ValidationError:
        return False
    return True


def test_a_number_of_a_query_has_its_limits() -> None:
    assert described(Digits(min_value=1, max_value=7)).items() >= {"minimum": 1, "maximum": 7}.items()


def test_whatever_the_document_refers_to_is_there(document: Mapping[str, Any]) -> None:
    referred = set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)))
    assert "components/headers/RequestID" in referred
    for path in referred:
        place: Any = document
        for part in path.split("/"):
            assert part in place, path
            place = place[part]
