"""The shop's job that reads what the warehouse has left, on the real sandbox and the real table."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from django_q.models import Schedule

from orders import jobs
from orders.engine.errors import Fault
from orders.shop import stock
from orders.shop.agents.warehouse import StockPage, Warehouse
from orders.shop.availability import known_stock
from orders.shop.models import Product, StockReading
from tests.sandbox.process import Sandbox, new_key
from tests.support.log_lines import written_lines
from tests.support.remote import answering, serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sandbox(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The warehouse that the job reads."""
    monkeypatch.setenv("WAREHOUSE_URL", f"http://127.0.0.1:{sandbox.port}/warehouse")
    return sandbox


def make_products(*skus: str) -> None:
    Product.objects.bulk_create(Product(sku=sku, title=sku, artist="Ada", price=100) for sku in skus)


def known(*skus: str) -> list[int | None]:
    """What is known to be left of each product."""
    rows = Product.objects.in_bulk(skus)
    return [known_stock(rows[sku].stock, rows[sku].stock_read_at, now=timezone.now()) for sku in skus]


def read_lines() -> list[str]:
    """What a reading logs."""
    with written_lines() as lines:
        stock.read_stock()
    return [line for line in lines if "action=read_stock" in line]


def test_a_reading_saves_what_the_warehouse_counts_and_nothing_else(sandbox: Sandbox) -> None:
    make_products("wave", "sun", "moon")
    sandbox.faults("warehouse", stock={"wave": 3, "sun": 0, "unknown here": 7})
    stock.read_stock()
    assert known("wave", "sun", "moon") == [3, 0, None]
    line = {"sku": "wave", "quantity": 1}
    sandbox.call("/warehouse/reserve", {"order_id": "o-1", "lines": [line]}, new_key())
    stock.read_stock()
    assert known("wave", "sun", "moon") == [2, 0, None]


def test_every_page_is_read(sandbox: Sandbox) -> None:
    skus = [f"print-{number:03}" for number in range(230)]
    make_products(*skus)
    sandbox.faults("warehouse", stock={sku: number for number, sku in enumerate(skus)})
    stock.read_stock()
    assert known(*skus) == list(range(230))


def test_what_has_not_changed_is_written_only_when_its_reading_grows_old(sandbox: Sandbox) -> None:
    make_products("wave", "sun")
    assert stock.save({"wave": 3, "sun": 1}) == 2
    assert stock.save({"wave": 3, "sun": 1}) == 0
    Product.objects.filter(sku="sun").update(stock_read_at=timezone.now() - timedelta(minutes=6))
    assert stock.save({"wave": 3, "sun": 1}) == 1
    assert stock.save({"wave": 2, "sun": 1}) == 1
    assert known("wave", "sun") == [2, 1]


def test_an_old_reading_says_nothing(sandbox: Sandbox) -> None:
    make_products("wave")
    stock.save({"wave": 0})
    Product.objects.update(stock_read_at=timezone.now() - timedelta(minutes=14))
    assert known("wave") == [0]
    Product.objects.update(stock_read_at=timezone.now() - timedelta(minutes=15, seconds=1))
    assert known("wave") == [None]


@pytest.mark.parametrize("fault", [{"down": True}, {"error_rate": 1}])
def test_an_outage_skips_the_reading_and_is_logged_once(sandbox: Sandbox, fault: dict[str, Any]) -> None:
    make_products("wave")
    sandbox.faults("warehouse", stock={"wave": 3})
    assert read_lines() == []
    sandbox.faults("warehouse", **fault)
    assert len(read_lines()) == 1
    assert [read_lines(), read_lines()] == [[], []]
    assert known("wave") == [3]
    sandbox.faults("warehouse", stock={"wave": 2}, down=False, error_rate=0)
    assert len(read_lines()) == 1
    assert (read_lines(), known("wave")) == ([], [2])


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"stock": {}, "next": None},
        {"stock": [], "next": 7},
        {"stock": ["wave"], "next": None},
        {"stock": [{"sku": "wave"}], "next": None},
        {"stock": [{"sku": "wave", "left": "3"}], "next": None},
        {"stock": [{"sku": "wave", "left": True}], "next": None},
        {"stock": [{"sku": "wave", "left": -1}], "next": None},
        {"stock": [{"sku": "wa\x00ve", "left": 1}], "next": None},
    ],
)
def test_an_answer_that_is_no_page_of_stock_is_refused(answer: dict[str, Any]) -> None:
    async def read() -> StockPage:
        async with serving(answering(200, json.dumps(answer))) as url:
            warehouse = Warehouse(url)
            try:
                return await warehouse.list_stock(after="")
            finally:
                await warehouse.close()

    with pytest.raises(Fault) as refused:
        asyncio.run(read())
    assert refused.value.code == "bad_answer"


def test_the_general_cluster_reads_it_every_minute_and_forgets_the_jobs_of_a_business_that_is_gone() -> None:
    Schedule.objects.create(name="business: bakery.jobs.bake", func="bakery.jobs.bake", schedule_type="I")
    jobs.prepare(jobs.SUPERVISION)
    jobs.prepare(jobs.GENERAL)
    (scheduled,) = Schedule.objects.filter(name__startswith="business: ")
    assert (scheduled.func, scheduled.cluster) == ("orders.shop.stock.read_stock", jobs.GENERAL)
    assert (scheduled.minutes, scheduled.repeats) == (1, -1)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("stock_was_read_at_a_time", {"stock": 3}),
        ("stock_was_read_at_a_time", {"stock_read_at": timezone.now()}),
        ("only_a_signed_edition_is_numbered", {"edition_size": 100}),
        ("only_a_signed_edition_is_numbered", {"edition": "signed", "edition_size": 0}),
        ("only_a_signed_edition_is_numbered", {"edition": "signed", "edition_size": 10_000}),
    ],
)
def test_an_impossible_product_is_refused_by_its_constraint(constraint: str, fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Product.objects.create(sku="wave", title="Wave", artist="Ada", price=100, **fields)


def test_an_outage_has_one_row() -> None:
    with pytest.raises(IntegrityError, match="there_is_one_reading_of_stock"), transaction.atomic():
        StockReading.objects.create(id=2)
