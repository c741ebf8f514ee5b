"""Has half of the requests that fit the document be about what there is; loaded by Schemathesis (`SCHEMATHESIS_HOOKS`).

The document cannot say which orders, steps and products there are, and no request for others gets far. It cannot say,
either, that an order has a product on one line only, what a postal code of a country looks like, what a kind without
a serializer reads, what a step declares of its result, which of its fields may be edited, which choices a decision
has, which urls are public, how many days a month has, how far back a hand-over goes, and what older versions take.
Nobody waits for long.
"""

import json
import os
import re
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

PLACES: dict[str, list[Any]] = json.loads(Path(os.environ["FUZZ_PLACES"]).read_text())
SKUS: list[str] = json.loads(os.environ["FUZZ_SKUS"])
SAMPLE = {"sample": "tile", "method": "x-ray", "batch": "7"}
FORCING = {
    "act": "force_circuit",
    "agent": "payments",
    "body": {"state": "open", "seconds": 60, "reason": "their night"},
}

NUMBER = "7KXM-93DJ"
"""A number with a check character that fits, which no JSON schema can ask for."""
LATELY = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"


@schemathesis.hook
def before_call(_context: Any, case: Any, **_options: Any) -> None:
    """Changes the parts of a request that are meant to fit."""
    if case.meta is None:
        return
    if case.operation.path.endswith("/products") and case.headers:
        case.headers.pop("API-Version", None)  # an older version takes sizes that the document refuses
    if _fits(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        orders = case.body.get("orders", [])
        for order in (case.body, *(item["order"] for item in orders if isinstance(item, dict))):
            _fit(order)
        if orders and isinstance(orders[0], str):
            orders[:1] = PLACES["orders/{order_id}"][-3:-2]
            case.body.pop("count", None)
        if "group" in case.body:
            case.body["group"] = PLACES["groups/{group_id}"][0]
        if "result" in case.body:
            case.body["result"]["finding"] = "copper"
        if case.body.get("outcome", "done") != "done":
            case.body.pop("result", None)
        if "changes" in case.body:
            case.body["changes"] = {}
        if "bulk-actions" in case.operation.path and "kind" in case.body:
            case.body.pop("changes", None)
            if case.body["kind"] == "edit":
                case.body["changes"] = {"email": "ada@example.com"}
        if case.operation.path.endswith("/approvals"):
            case.body.clear()
            case.body.update(FORCING)
        if "until" in case.body:
            case.body["until"] = "2999-11-20T12:00:00Z"
        if "since" in case.body:
            case.body["since"] = LATELY
        if "url" in case.body:
            case.body["url"] = "https://receiver.invalid/"
        if "choice" in case.body:
            case.body["choice"] = "accept"
        if "wait" in case.body:
            case.body["wait"] = int(case.body["wait"]) % 2
        if "ids" in case.body:
            case.body["ids"][:1] = PLACES["messages/{message_id}"][:1]
    if _fits(case, ParameterLocation.QUERY) and "wait" in case.query:
        case.query["wait"] = int(case.query["wait"]) % 2
    if _fits(case, ParameterLocation.QUERY) and case.query and "number" in case.query:
        case.query["number"] = NUMBER
    if _fits(case, ParameterLocation.QUERY) and case.operation.path.endswith("/handover") and case.query:
        case.query["since"] = LATELY
    if case.query and "fields" in case.query and _names_members(case):
        del case.query["fields"]
    is_followed = case.meta.phase.name.value == "stateful"
    number = zlib.crc32(repr(sorted((case.path_parameters or {}).items())).encode())
    if _fits(case, ParameterLocation.PATH) and not is_followed and number % 2:
        for place, name in re.findall(r"([^/]+/\{(\w+)\})", case.operation.path):
            case.path_parameters[name] = PLACES[place][number // 2 % len(PLACES[place])]


def _fit(order: dict[str, Any]) -> None:
    """Has an order be about products that there are, to where it can be sent, or about a sample."""
    for line, sku in zip(order.get("lines", ()), SKUS, strict=False):
        line["sku"] = sku
    if isinstance(address := order.get("ship_to"), dict):
        for part in ("postal_code", "state", "phone"):
            address.pop(part, None)
        address["country"] = "HK"  # where an address needs none of them
    if order.get("workflow") == "analyse-sample":
        order |= SAMPLE


def _fits(case: Any, location: ParameterLocation) -> bool:
    component = case.meta.components.get(location)
    return component is not None and component.mode.is_positive


def _names_members(case: Any) -> bool:
    """Whether `fields` has nothing but members that there are, however it is written."""
    fields = case.query["fields"]
    named = ",".join(map(str, fields)) if isinstance(fields, list) else str(fields)
    parameters = case.operation.definition.raw["parameters"]
    (names,) = (entry["schema"]["items"]["enum"] for entry in parameters if entry.get("name") == "fields")
    return set(named.split(",")) <= set(names)
