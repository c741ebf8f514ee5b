"""The countries that the shop sends orders to: those with terms of delivery, but for those that a setting leaves out.
What the carrier does not serve it refuses anyway."""

from functools import cache

from orders.fields.country_codes import is_country
from sasweb.environment import Environment, invalid

NAME = "NOT_SERVED_COUNTRIES"
EXPECTED = "two-letter codes of countries in ISO 3166, separated by commas, for example AQ,GB"


def read_not_served(environment: Environment) -> frozenset[str]:
    """The codes of the countries that are left out of the choices. Raises `ConfigError`."""
    codes = [code.strip() for code in environment.texts(NAME, ["AQ"], of="countries") if code.strip()]
    if not all(is_country(code) for code in codes):
        raise invalid(NAME, ",".join(codes), EXPECTED)
    return frozenset(codes)


@cache
def present_not_served() -> frozenset[str]:
    """Those of this process."""
    return read_not_served(Environment())


def nothing_delivered(country: str) -> str:
    """Says to a REST client that its order cannot go to a country."""
    return f"Nothing is delivered to {country}."


def choices() -> list[tuple[str, str]]:
    """Code and name of every country that is served, by name. One statement."""
    from orders.shop import pricing  # noqa: PLC0415 - the settings are read before there is a database

    tariff = pricing.tariff()
    return [(code, name) for code, name in _offered() if tariff.serves_any(code)]


def is_offered(code: str) -> bool:
    """Whether a text is the code of a country that no setting leaves out. No statement."""
    return code in dict(_offered())


def _offered() -> list[tuple[str, str]]:
    from orders.fields import countries  # noqa: PLC0415 - the roles need no names of countries

    return [(code, name) for code, name in countries.choices() if code not in present_not_served()]
