"""Two real database roles: everything works as the one that owns nothing, and the audit log is out of its reach."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoDbBlocker

from orders.models import AuditEntry, BulkAction
from orders.services import audit
from orders.services.operators import bulk
from sasweb.launcher import children
from tests.launcher.helpers import line_with, python
from tests.support import prefork
from tests.support.finished_orders import finished_order, is_stored, retain
from tests.support.mailbox import mailbox
from tests.support.own_database import orm_at, own_database
from tests.support.people import person, signed_in
from tests.support.ports import free_ports
from tests.support.system import System
from tests.support.wait import until
from tests.web.server import Server

ADMIN = audit.Actor(name="ann", ip_address="192.0.2.7")


@dataclass(frozen=True, kw_only=True)
class Urls:
    """The same database as the server's administrator, as the role that migrates, and as the application's role."""

    administrator: str
    owner: str
    application: str

    def manage(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs a management command as an installer does."""
        urls = {"DATABASE_URL": self.application, "MIGRATE_DATABASE_URL": self.owner}
        return prefork.complete("manage.py", *command, env={**os.environ, **urls, **env})


@pytest.fixture(scope="module")
def urls(django_db_blocker: DjangoDbBlocker) -> Iterator[Urls]:
    """A database that was set up as docs/operations.md says."""
    with django_db_blocker.unblock(), own_database() as database:
        for statement in (
            "CREATE ROLE shop_owner LOGIN PASSWORD 'x'",
            "CREATE ROLE shop LOGIN PASSWORD 'y'",
            "CREATE DATABASE shop OWNER shop_owner",
        ):
            database.act(statement)
        at = f"host={database.server.sockets}&port=5432"
        urls = Urls(
            administrator=f"postgresql://sasweb@/shop?{at}",
            owner=f"postgresql://shop_owner@/shop?{at}",
            application=f"postgresql://shop@/shop?{at}",
        )
        for command in ("migrate", "grant_rights"):
            done = urls.manage(command)
            assert done.returncode == 0, done.stderr
        with orm_at(urls.application):
            yield urls


@pytest.fixture
def system(urls: Urls, tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path, DATABASE_URL=urls.application)
    yield system
    system.end()


def test_the_application_owns_nothing(urls: Urls) -> None:
    with psycopg.connect(urls.administrator) as session:
        owned = "SELECT count(*) FROM pg_class WHERE relowner = 'shop'::regrole"
        tables = "SELECT count(*) FROM pg_tables WHERE tableowner = 'shop_owner'"
        assert session.execute(owned).fetchone() == (0,)
        assert session.execute(tables).fetchone() > (40,)


def test_orders_pass_every_role_and_operators_act_on_them(system: System) -> None:
    system.start_all()
    system.place(3)
    system.place(payment_method="card_declined")
    assert system.wait_until_ended() == ["compensated", "processed", "processed", "processed"]
    system.faults("carrier", refuse_rate=1.0)
    (failed,) = system.place()
    assert system.wait_until_ended([failed]) == ["error"]
    system.no_faults()
    action = bulk.create(kind="resubmit", selection="the failed one", order_ids=[failed], actor=ADMIN)
    until(lambda: BulkAction.objects.get(pk=action.pk).ended_at, seconds=120, what="the bulk action")
    assert system.wait_until_ended([failed]) == ["processed"]
    call_command("compensate", str(failed), "--reason", "the press broke", "--by", "ann")
    until(lambda: system.states([failed]) == ["compensated"], seconds=120, what="the refund")
    assert {"resubmit", "compensate"} <= {entry.act for entry in AuditEntry.objects.all()}
    system.check()


def test_customers_sign_up_and_order_and_are_erased(urls: Urls, tmp_path: Path, settings: Any) -> None:
    browser = Client()
    with mailbox(settings) as inbox:
        browser.post("/account/sign-up/", {"email": "ada@example.com"})
        answer = browser.post(
            inbox.link(), {"new_password1": "four grey geese", "new_password2": "four grey geese"}
        )
    assert answer["Location"] == "/account/"
    ada = User.objects.get(email="ada@example.com")
    finished_order(days=1, purchase={"customer": ada, "email": ada.email})
    call_command("erase", ada.email, "--yes", "--by", "ann")
    assert not User.objects.filter(email="ada@example.com").exists()
    old = finished_order(days=91)
    assert retain()["finished orders"] == 1
    assert not is_stored(old)
    assert urls.manage("verify_audit").returncode == 0


def test_the_console_and_the_admin_site_write(urls: Urls) -> None:
    desk = signed_in(person("admin", "ann"))
    paused = desk.post("/console/agents/mail/pause/", {"reason": "the post is on strike"})
    assert paused.status_code in (200, 302)
    assert AuditEntry.objects.filter(act="pause agent", allowed=True).count() == 1


def test_the_web_is_ready_with_the_role_of_the_application(urls: Urls, tmp_path: Path) -> None:
    server = Server(tmp_path / "web.log", database_url=urls.application, VAR_DIR=str(tmp_path))
    try:
        until(server.answers, what="the web server")
        assert server.request("GET", "/readyz").status == 200
    finally:
        server.end()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE orders_auditentry SET actor = 'nobody'",
        "SET sasweb.erasing = 'on'; UPDATE orders_auditentry SET actor = 'nobody'",
        "DELETE FROM orders_auditentry",
        "TRUNCATE orders_auditentry",
        "TRUNCATE orders_auditlink",
        "DROP TABLE orders_auditentry",
        "DROP TRIGGER audit_is_append_only ON orders_auditentry",
        "DROP TRIGGER audit_entry_is_linked ON orders_auditentry",
        "ALTER TABLE orders_auditentry DISABLE TRIGGER ALL",
        "ALTER TABLE orders_auditentry OWNER TO shop",
        "ALTER TABLE orders_auditlink DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "INSERT INTO orders_auditlink VALUES (1000, 1, NULL, '', '')",
        "UPDATE orders_auditlink SET salt = NULL",
        "DELETE FROM orders_auditlink",
        "SELECT orders_audit_append(entry) FROM orders_auditentry AS entry",
        "CREATE TEMPORARY TABLE mine (LIKE orders_auditentry);"
        " CREATE TRIGGER linked AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION orders_audit_follows()",
        "CREATE OR REPLACE FUNCTION orders_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "CREATE TABLE orders_mine (id int)",
        "UPDATE django_migrations SET app = 'none'",
        "SET ROLE shop_owner",
    ],
)
def test_the_application_cannot_touch_what_is_in_the_audit_log(urls: Urls, statement: str) -> None:
    if not AuditEntry.objects.exists():
        audit.record(actor=ADMIN, act="note")
    with (
        psycopg.connect(urls.application) as session,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        session.execute(statement.encode())


def test_a_temporary_table_cannot_stand_in_for_the_chain(urls: Urls) -> None:
    with psycopg.connect(urls.application) as session:
        session.execute("CREATE TEMPORARY TABLE orders_auditlink (LIKE public.orders_auditlink)")
        session.execute(
            "INSERT INTO orders_auditentry (actor, ip_address, act, target, allowed, result, reason)"
            " VALUES ('mallory', '', 'note', '', true, '', '')"
        )
        session.commit()
        assert session.execute("SELECT count(*) FROM pg_temp.orders_auditlink").fetchone() == (0,)
    verified = urls.manage("verify_audit")
    assert (verified.returncode, "Note:" in verified.stdout) == (0, False)


def test_up_migrates_as_the_owner_and_keeps_its_url_from_the_processes(urls: Urls, tmp_path: Path) -> None:
    env = {
        "DEBUG": "true",
        "DATABASE_URL": urls.application,
        "MIGRATE_DATABASE_URL": urls.owner,
        "VAR_DIR": str(tmp_path),
        "BIND": f"127.0.0.1:{free_ports()}",
        "SANDBOX_BIND": f"127.0.0.1:{free_ports()}",
    }
    with python("manage.py", "up", env=env) as launcher:
        try:
            line_with(launcher, "shop may work with all tables")
            line_with(launcher, "sasweb is ready")
            pids = [stat.pid for stat in children.processes() if stat.parent == launcher.pid]
            environments = [Path(f"/proc/{pid}/environ").read_bytes() for pid in pids]
        finally:
            launcher.terminate()
            launcher.communicate(timeout=60)
    assert len(environments) >= 6
    assert [text for text in environments if b"MIGRATE_DATABASE_URL" in text] == []


def test_up_needs_the_applications_url_beside_the_owners(urls: Urls, tmp_path: Path) -> None:
    env = {"DATABASE_URL": "", "MIGRATE_DATABASE_URL": urls.owner, "VAR_DIR": str(tmp_path)}
    with python("manage.py", "up", env=env, stderr=subprocess.PIPE) as launcher:
        out, err = launcher.communicate(timeout=60)
    assert (launcher.returncode, out) == (1, "")
    assert (
        err
        == "sasweb: MIGRATE_DATABASE_URL is set, so DATABASE_URL must be set, too, with a role of its own\n"
    )


def problem(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return done.returncode, done.stderr.strip()


def test_roles_that_would_keep_rights_are_refused_with_what_to_do(urls: Urls) -> None:
    one_role = problem(urls.manage("grant_rights", MIGRATE_DATABASE_URL=""))
    assert one_role[0] == 2 and one_role[1].startswith("MIGRATE_DATABASE_URL is not set")
    same = problem(urls.manage("grant_rights", DATABASE_URL=urls.owner))
    assert same == (
        2,
        "shop_owner has the rights of the role that migrates: DATABASE_URL needs a role of its own",
    )
    superuser = problem(urls.manage("grant_rights", DATABASE_URL=urls.administrator))
    assert superuser[1].startswith("sasweb is a superuser, so it may do everything")
    nobody = urls.application.replace("shop@", "nobody_there@")
    assert problem(urls.manage("grant_rights", DATABASE_URL=nobody))[1].startswith(
        "there is no database role nobody"
    )


def test_an_application_that_owns_tables_is_told_to_hand_them_over(urls: Urls) -> None:
    with psycopg.connect(urls.administrator, autocommit=True) as session:
        session.execute("ALTER TABLE orders_address OWNER TO shop")
        try:
            refusal = problem(urls.manage("grant_rights"))
        finally:
            session.execute("ALTER TABLE orders_address OWNER TO shop_owner")
    assert refusal == (
        2,
        "shop owns orders_address: as a superuser, run REASSIGN OWNED BY shop TO the role that migrates",
    )
