"""The setting that leaves countries out."""

import pytest

from orders.shop.served import read_not_served
from sasweb.environment import ConfigError, Environment


@pytest.mark.parametrize(
    ("codes", "countries"), [("", set()), ("AQ", {"AQ"}), ("AQ, GB,XK", {"AQ", "GB", "XK"})]
)
def test_the_codes_of_countries_are_read(
    monkeypatch: pytest.MonkeyPatch, codes: str, countries: set[str]
) -> None:
    monkeypatch.setenv("NOT_SERVED_COUNTRIES", codes)
    assert read_not_served(Environment()) == countries


@pytest.mark.parametrize("codes", ["XX", "AQ,UK", "EU", "gb", "GBR", "A", "ÄQ", "ZZ"])
def test_what_is_the_code_of_no_country_is_refused(monkeypatch: pytest.MonkeyPatch, codes: str) -> None:
    monkeypatch.setenv("NOT_SERVED_COUNTRIES", codes)
    with pytest.raises(ConfigError, match=r"NOT_SERVED_COUNTRIES.*ISO 3166"):
        read_not_served(Environment())
