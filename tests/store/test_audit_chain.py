"""The chain over the audit log: whoever changes, deletes or adds an entry behind its back is found out."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from orders.engine.runtime.sql import fetch, run
from orders.models import AuditEntry, AuditLink
from orders.selectors.desk import audit_chain
from orders.services import audit
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

OLGA = audit.Actor(name="olga", ip_address="192.0.2.7")
TRUNCATING = {
    "orders_auditentry": "audit_is_not_truncated",
    "orders_auditlink": "audit_links_are_not_truncated",
}


@pytest.fixture(autouse=True)
def protected() -> Iterator[None]:
    """The triggers for TRUNCATE, which the test database does without, during the test."""
    for table, trigger in TRUNCATING.items():
        run(f"ALTER TABLE {table} ENABLE TRIGGER {trigger}")
    yield
    for table, trigger in TRUNCATING.items():
        run(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")


@contextmanager
def unprotected() -> Iterator[None]:
    """What the owner of the tables or an administrator of the server can do: switch every trigger off."""
    for table in TRUNCATING:
        run(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    yield
    for table in TRUNCATING:
        run(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def write(count: int) -> list[int]:
    """Writes entries, each in a transaction of its own; returns their ids."""
    return [
        audit.record(actor=OLGA, act="resubmit", target=f"order {n}", before={"n": n}).pk
        for n in range(count)
    ]


def verify(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of `manage.py verify_audit`."""
    out = io.StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out, stderr=out)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue()
    return 0, out.getvalue()


@pytest.mark.parametrize("table", TRUNCATING)
@pytest.mark.parametrize("statement", ["TRUNCATE {}", "DELETE FROM {}", "UPDATE {} SET {} = {}"])
def test_entries_and_links_cannot_be_changed_or_removed(table: str, statement: str) -> None:
    write(2)
    key = "id" if table == "orders_auditentry" else "position"
    with pytest.raises(DatabaseError, match="the audit log is append-only"):
        run(statement.format(table, key, f"{key} + 10"))
    assert (AuditEntry.objects.count(), AuditLink.objects.count()) == (2, 2)


def test_a_whole_log_is_confirmed_with_its_head() -> None:
    assert verify()[1].startswith(
        "The audit log is intact: 0 entries, 0 entries changed by erasures.\nhead 0:\n"
    )
    write(3)
    status, out = verify()
    head = AuditLink.objects.get(position=3).hash.hex()
    assert (status, out.splitlines()[:2]) == (
        0,
        ["The audit log is intact: 3 entries, 0 entries changed by erasures.", f"head 3:{head}"],
    )


def test_an_act_that_is_rolled_back_leaves_neither_entry_nor_link() -> None:
    write(1)
    with transaction.atomic():
        audit.record(actor=OLGA, act="resubmit")
        transaction.set_rollback(True)
    write(1)
    assert list(AuditLink.objects.order_by("position").values_list("position", flat=True)) == [1, 2]
    assert verify()[0] == 0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *[("actor", "'somebody else'"), ("ip_address", "''"), ("at", "at - interval '1 day'")],
        *[("act", "'note'"), ("target", "''"), ("allowed", "NOT allowed"), ("result", "'x'")],
        *[("reason", "'x'"), ("before", "NULL"), ("after", "'{}'")],
    ],
)
def test_a_change_behind_the_triggers_is_found(column: str, value: str) -> None:
    _, second, _ = write(3)
    with unprotected():
        run(f"UPDATE orders_auditentry SET {column} = {value} WHERE id = %s", [second])
    status, out = verify()
    assert status == 1
    assert f"tampered with: entry {second} was changed, and is the first that does not fit" in out


def test_the_first_of_several_misfits_is_named() -> None:
    ids = write(4)
    with unprotected():
        run("DELETE FROM orders_auditentry WHERE id = %s", [ids[1]])
        run("UPDATE orders_auditentry SET actor = 'nobody' WHERE id = %s", [ids[2]])
    assert f"entry {ids[1]} was deleted" in verify()[1]


def test_an_entry_that_is_removed_with_its_link_leaves_a_gap() -> None:
    ids = write(3)
    with unprotected():
        run("DELETE FROM orders_auditentry WHERE id = %s", [ids[1]])
        run("DELETE FROM orders_auditlink WHERE entry = %s", [ids[1]])
    assert "link 2 is missing" in verify()[1]
    with unprotected():
        run("UPDATE orders_auditlink SET position = 2 WHERE position = 3")
    assert f"entry {ids[2]} does not follow from the entries before it" in verify()[1]


def test_an_entry_that_is_slipped_in_has_no_link() -> None:
    write(1)
    with unprotected():
        run(
            "INSERT INTO orders_auditentry (actor, ip_address, act, target, allowed, result, reason)"
            " VALUES ('olga', '', 'resubmit', '', true, '', '')"
        )
    status, out = verify()
    assert (status, "has no link" in out) == (1, True)


def test_a_log_whose_end_is_cut_off_or_that_is_rewritten_no_longer_has_its_earlier_head() -> None:
    write(3)
    head = str(audit_chain.read_head())
    write(1)
    assert verify("--since", head)[0] == 0
    with unprotected():
        run("DELETE FROM orders_auditentry")
        run("DELETE FROM orders_auditlink")
    assert verify()[0] == 0, "nothing is left that could tell"
    assert verify("--since", head)[0] == 1
    write(4)
    status, out = verify("--since", head)
    assert (verify()[0], status) == (0, 1)
    assert f"its head {head} is gone" in out


@pytest.mark.parametrize("text", ["", "7", "x:y", "3:abc", "0:" + "0" * 64, "3:"])
def test_what_is_no_head_is_refused(text: str) -> None:
    status, out = verify("--since", text)
    assert (status, "is not a head of the audit log" in out) == (2, True)


def test_an_erasure_changes_an_entry_and_seals_what_it_says_now() -> None:
    first, second = write(2)
    before = AuditLink.objects.get(entry=first)
    fetch("SELECT orders_audit_amend(%s, 'erased-1', '', 'erased', '', NULL, NULL)", [first])
    entry = AuditEntry.objects.get(pk=first)
    assert (entry.actor, entry.result, entry.before) == ("erased-1", "erased", None)
    links = list(AuditLink.objects.order_by("position").values_list("position", "entry"))
    assert links == [(1, first), (2, second), (3, first)]
    status, out = verify()
    assert (status, out.splitlines()[0]) == (
        0,
        "The audit log is intact: 2 entries, 1 entry changed by erasures.",
    )
    again = AuditLink.objects.get(position=1)
    assert (bytes(again.hash), bytes(again.digest), again.salt) == (
        bytes(before.hash),
        bytes(before.digest),
        None,
    )
    with unprotected():
        run("UPDATE orders_auditentry SET result = 'what was there' WHERE id = %s", [first])
    assert f"entry {first} was changed" in verify()[1]


def test_an_entry_without_its_salt_is_as_good_as_changed() -> None:
    first, _ = write(2)
    run("UPDATE orders_auditlink SET salt = NULL WHERE entry = %s", [first])
    assert f"entry {first} was changed" in verify()[1]


def test_many_batches_are_one_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_chain, "BATCH", 2)
    ids = write(7)
    assert verify()[0] == 0
    with unprotected():
        run("UPDATE orders_auditlink SET digest = sha256('') WHERE entry = %s", [ids[4]])
    assert f"entry {ids[4]} does not follow" in verify()[1]


def test_acts_at_the_same_time_make_one_chain() -> None:
    def act() -> None:
        write(20)
        connection.close()

    threads = [threading.Thread(target=act) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [link.position for link in AuditLink.objects.order_by("position")] == list(range(1, 101))
    assert verify()[0] == 0


def test_an_act_under_way_makes_no_other_act_wait() -> None:
    """The lock that puts links in order is taken when the transaction commits, after all others."""
    done = threading.Event()

    def act() -> None:
        write(1)
        connection.close()
        done.set()

    with transaction.atomic():
        audit.record(actor=OLGA, act="bulk")
        other = threading.Thread(target=act)
        other.start()
        until(done.is_set, what="the other act")
    other.join()
    acts = list(AuditLink.objects.order_by("position").values_list("entry", flat=True))
    assert acts == list(AuditEntry.objects.order_by("-id").values_list("id", flat=True))
    assert verify()[0] == 0
