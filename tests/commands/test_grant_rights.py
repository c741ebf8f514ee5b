"""`manage.py grant_rights` says what to do when it comes too early."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from tests.commands.running import run


@pytest.mark.django_db
def test_it_asks_for_the_tables_before_it_grants_anything(settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE early_bird LOGIN; CREATE SCHEMA without_tables")
        cursor.execute("SET LOCAL search_path = without_tables")
        settings.CONFIG = replace(
            settings.CONFIG,
            database_url="postgresql://early_bird@localhost/sasweb",
            migrate_database_url="postgresql://owner@localhost/sasweb",
        )
        result = run("grant_rights")
    assert result.code != 0
    assert result.err == "the tables are not there yet: run manage.py migrate first\n"
