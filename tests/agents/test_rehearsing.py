"""A rehearsal of a resubmission shows what the resubmission then sends, and sends and writes nothing itself."""

import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.test import Client

from orders.demo import loading
from orders.engine.errors import Fault, Refused, Unresolved
from orders.engine.rehearsals import EMAIL
from orders.engine.runtime.sql import fetch
from orders.fields.order_numbers import spoken_number
from orders.services.operators.rehearsing import RehearsedCall, rehearse_resubmission
from orders.services.order_changes import resubmit_order
from orders.shop.models import Product
from orders.shop.placing import place_order
from orders.testing import StandIn, run_to_end
from tests.sandbox.process import Sandbox
from tests.support.factories import new_order
from tests.support.mailbox import text_of

SERVICES = ("warehouse", "payments", "carrier", "mail")
is_cut_off = False


def refuse_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    if is_cut_off and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise ConnectionRefusedError(f"{event}{arguments}")


sys.addaudithook(refuse_the_network)


@contextmanager
def without_network() -> Iterator[None]:
    """Every connection that Python opens is refused. That to PostgreSQL is not Python's."""
    global is_cut_off
    is_cut_off = True
    try:
        yield
    finally:
        is_cut_off = False


@pytest.fixture
def stand_in(sandbox: Sandbox) -> Iterator[StandIn]:
    with StandIn(f"http://127.0.0.1:{sandbox.port}") as stand_in:
        yield stand_in


@pytest.fixture
def order_id(
    transactional_db: None,
    sandbox: Sandbox,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> UUID:
    """An order whose services are behind the stand-in; that of payments wants a password."""
    monkeypatch.setenv("SANDBOX_BIND", f"127.0.0.1:{sandbox.port}")
    for service in ("warehouse", "carrier"):
        monkeypatch.setenv(f"{service.upper()}_URL", f"{stand_in.url}/{service}")
    monkeypatch.setenv("PAYMENTS_URL", f"{stand_in.url.replace('//', '//shop:hush@')}/payments")
    loading.load(tmp_path)
    sku = Product.objects.order_by("sku").values_list("sku", flat=True)[0]
    return place_order(client="guest", order=new_order(sku)).order_id


def everything(sandbox: Sandbox) -> list[Any]:
    """What the remote services have done, and every row of every table."""
    tables = [name for (name,) in fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    rows = [sorted(map(str, fetch(f"SELECT row::text FROM {table} AS row"))) for table in sorted(tables)]
    return [*(sandbox.ledger(service) for service in SERVICES), rows]


def newest_email(sandbox: Sandbox) -> bytes:
    """The email that the sandbox's mailbox shows first, as it was sent but for the ends of lines."""
    number = re.findall(r"/_mail/(\d+)", text_at(sandbox, "/_mail/"))[0]
    return text_at(sandbox, f"/_mail/{number}/raw").replace("\r\n", "\n").encode()


def text_at(sandbox: Sandbox, path: str) -> str:
    with closing(sandbox.open("GET", path, b"", {})) as connection:
        return connection.getresponse().read().decode()


def rehearsed(order_id: UUID, sandbox: Sandbox) -> RehearsedCall:
    """The only call that a resubmission would make; finding it out has changed nothing."""
    before = everything(sandbox)
    with without_network():
        (call,) = rehearse_resubmission(order_id).calls
    assert everything(sandbox) == before
    return call


@pytest.mark.parametrize(
    ("agent", "fault", "generation"),
    [
        ("payments", Refused("no", "not today"), 2),  # a definite no: the next try has a new key
        ("carrier", Unresolved("http_501", "who knows"), 1),  # may be done: it keeps the key
    ],
)
def test_a_rehearsal_shows_the_bytes_that_a_resubmission_then_sends(
    order_id: UUID, sandbox: Sandbox, stand_in: StandIn, agent: str, fault: Fault, generation: int
) -> None:
    assert run_to_end(order_id, faults={agent: [fault]}).state == "error"
    call = rehearsed(order_id, sandbox)
    assert call.agent == agent and call.request.key.endswith(f"/{generation}")
    assert call.message is not None and call.last is not None
    changed = [(row.before, row.after) for row in call.differences]
    assert changed == ([(call.last.key, call.request.key)] if generation == 2 else [])
    so_far = len(stand_in.received)

    resubmit_order(order_id=order_id, by="ada")
    assert run_to_end(order_id).state == "processed"
    sent = stand_in.received[so_far:]
    if call.inquiry is not None:
        assert (call.inquiry.method, urlsplit(call.inquiry.url).path) == ("GET", f"/{agent}/calls")
        assert (sent[0].method, sent[0].path.partition("?")[0]) == ("GET", f"/{agent}/calls")
    assert (call.inquiry is not None) == (generation == 1)
    posted = sent[0 if call.inquiry is None else 1]
    message = call.message
    assert (message.method, urlsplit(message.url).path, message.body) == (
        posted.method,
        posted.path,
        posted.body,
    )
    assert message.headers["Idempotency-Key"] == posted.headers["Idempotency-Key"] == call.request.key
    hidden = {"Authorization"} if agent == "payments" else set()
    assert set(message.masked) == hidden
    assert message.headers == dict(posted.headers) | dict.fromkeys(hidden, "(masked)")
    assert "hush" not in str(call)


def test_a_step_that_sends_an_email_shows_the_email(order_id: UUID, sandbox: Sandbox) -> None:
    assert run_to_end(order_id, faults={"mail": [Refused("smtp_550", "no such user")]}).state == "error"
    call = rehearsed(order_id, sandbox)
    assert call.message is not None and call.message.method == EMAIL
    resubmit_order(order_id=order_id, by="ada")
    assert run_to_end(order_id).state == "processed"
    (email,) = (mail for mail in sandbox.ledger("mail") if mail["order_id"] == str(order_id))
    assert call.message.headers["Message-ID"] == f"<{email['message_id']}>"
    assert [call.message.headers["To"]] == email["to"]
    assert call.message.headers["Subject"] == email["subject"]
    assert call.message.text == email["body"]
    assert newest_email(sandbox).endswith(call.message.body.replace(b"\r\n", b"\n"))
    assert call.message.body.count(b"Content-Type: image/png") == 1


@pytest.mark.parametrize("compensates", [False, True])
def test_both_emails_of_an_order_lead_to_it_and_show_its_poster(
    order_id: UUID, sandbox: Sandbox, client: Client, compensates: bool
) -> None:
    assert run_to_end(order_id, compensate=compensates).state == (
        "compensated" if compensates else "processed"
    )
    email = message_from_bytes(newest_email(sandbox), policy=policy.default)
    assert isinstance(email, EmailMessage) and email["X-Order-Id"] == str(order_id)
    (link,) = re.findall(r"Go to your order:\n\n(\S+)\n", text_of(email))
    page = client.get(urlsplit(link).path)
    assert page.status_code == 200 and spoken_number(order_id) in page.content.decode()
    (png,) = (part for part in email.walk() if part.get_content_type() == "image/png")
    (html,) = (part for part in email.walk() if part.get_content_type() == "text/html")
    assert f'src="cid:{png["Content-ID"].strip("<>")}"' in html.get_content()
    assert png.get_content().startswith(b"\x89PNG")


def test_what_comes_later_names_the_result_that_nobody_knows_yet(order_id: UUID, sandbox: Sandbox) -> None:
    assert run_to_end(order_id, faults={"warehouse": [Refused("no", "closed")]}).state == "error"
    rehearsal = rehearse_resubmission(order_id)
    assert [call.request.step for call in rehearsal.calls] == ["reserve-stock"]
    later = {step.step: (list(step.after), list(step.needs)) for step in rehearsal.later}
    assert later["create-shipment"] == (["reserve-stock"], [])
    assert later["send-confirmation"] == (["capture-payment"], ["create-shipment"])
