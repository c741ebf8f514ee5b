"""Which codes are those of countries."""

import pytest

from orders.fields.country_codes import country_codes, is_country


@pytest.mark.parametrize("code", ["GB", "NL", "AQ", "HK", "XK"])
def test_a_country_has_a_code(code: str) -> None:
    assert is_country(code)


@pytest.mark.parametrize("code", ["XX", "UK", "EU", "ZZ", "gb", "GBR", "826", "", "G1"])
def test_nothing_else_is_one(code: str) -> None:
    assert not is_country(code)


def test_there_are_as_many_as_in_iso_3166_and_kosovo() -> None:
    assert len(country_codes()) == 249 + 1
