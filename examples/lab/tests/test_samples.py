"""A sample and its analysis are registered together or not at all, and once."""

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from examples.lab.models import Sample
from examples.lab.samples import register
from examples.lab.standin import Laboratory
from orders.business import BadOrderError
from orders.business.placing import KeyReusedError
from orders.testing import run_to_end

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = {"review": {"choice": "accept"}}


def test_a_rolled_back_registration_leaves_neither_sample_nor_order(laboratory: Laboratory) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        order_id = register(code="S-1", method="staining", batch="B-7")
        raise ZeroDivisionError
    assert not Sample.objects.exists()
    with pytest.raises(AssertionError, match=f"there is no order {order_id}"):
        run_to_end(order_id)


def test_a_sample_that_cannot_be_analysed_is_not_inserted() -> None:
    with pytest.raises(BadOrderError, match="method must be a text"):
        register(code="S-1", method="", batch="B-7")
    assert not Sample.objects.exists()


def test_a_sample_registered_twice_is_analysed_once(laboratory: Laboratory) -> None:
    first, second = (register(code="S-1", method="staining", batch="B-7") for _ in range(2))
    assert first == second
    assert Sample.objects.count() == 1
    assert run_to_end(first, answers=ACCEPTED).state == "processed"
    assert run_to_end(register(code="S-1", method="staining", batch="B-7")).order_id == first
    assert len(laboratory.ledger) == 5


def test_a_sample_is_not_registered_with_another_method() -> None:
    register(code="S-1", method="staining", batch="B-7")
    with pytest.raises(KeyReusedError):
        register(code="S-1", method="chromatography", batch="B-7")


def test_the_command_registers_a_sample_and_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("register_sample", "S-1", "staining", "B-7")
    assert capsys.readouterr().out.strip() == str(register(code="S-1", method="staining", batch="B-7"))
    with pytest.raises(CommandError, match="sample S-1 is registered already, with another method or batch"):
        call_command("register_sample", "S-1", "staining", "B-8")
    with pytest.raises(CommandError, match="batch must be a text of 1 to 40 characters"):
        call_command("register_sample", "S-2", "staining", "")
