"""The two database roles of an installation: one owns the tables and migrates them, the other works with the rows.

Whoever owns a table can remove its triggers. So the role of `DATABASE_URL` owns nothing, and in the audit log it can
only read and add entries.
"""

from typing import Any

import psycopg
from psycopg import sql

READ_ONLY = ("django_migrations", "orders_auditlink")
APPEND_ONLY = ("orders_auditentry",)
FUNCTIONS = ("orders_audit_amend(bigint, text, text, text, text, jsonb, jsonb)",)
"""What only its owner may call unless it is granted."""


class UnsuitableRoleError(Exception):
    """Raised when a role would keep rights that it must not have. The text is one line that says what to change."""


def grant_rights(session: psycopg.Connection[Any], *, role: str) -> None:
    """Gives `role` the rights that the application needs, and takes others away. The session is the owner's.

    To be repeated after each migration, because a new table belongs to the owner alone. Raises `UnsuitableRoleError`.
    """
    _check(session, role)
    row = session.execute("SELECT current_schema()").fetchone()
    assert row
    names = {"schema": sql.Identifier(row[0]), "role": sql.Identifier(role)}
    statements = [
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        *(f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM {{role}}" for table in READ_ONLY),
        *(f"REVOKE UPDATE, DELETE ON {table} FROM {{role}}" for table in APPEND_ONLY),
        *(f"GRANT EXECUTE ON FUNCTION {function} TO {{role}}" for function in FUNCTIONS),
    ]
    with session.transaction():
        for statement in statements:
            session.execute(sql.SQL(statement).format(**names))


def _check(session: psycopg.Connection[Any], role: str) -> None:
    """Raises `UnsuitableRoleError` if the role does not exist, or may do what its grants do not say."""
    row = session.execute(
        "SELECT rolsuper, pg_has_role(rolname, current_user, 'MEMBER') FROM pg_roles WHERE rolname = %s",
        [role],
    ).fetchone()
    if row is None:
        raise UnsuitableRoleError(f"there is no database role {role}: CREATE ROLE {role} LOGIN PASSWORD '…'")
    is_superuser, is_owner = row
    if is_superuser:
        raise UnsuitableRoleError(
            f"{role} is a superuser, so it may do everything: ALTER ROLE {role} NOSUPERUSER, or use another role"
        )
    if is_owner:
        raise UnsuitableRoleError(
            f"{role} has the rights of the role that migrates: DATABASE_URL needs a role of its own"
        )
    owned = session.execute(
        "SELECT relname FROM pg_class WHERE relowner = %s::regrole AND relkind IN ('r', 'p')",
        [role],
    ).fetchone()
    if owned:
        raise UnsuitableRoleError(
            f"{role} owns {owned[0]}: as a superuser, run REASSIGN OWNED BY {role} TO the role that migrates"
        )
