"""What `APPROVE_REFUNDS_ABOVE` may say."""

from sasweb.amounts import read_amounts


def test_amounts_are_in_minor_units_of_their_currency() -> None:
    assert read_amounts("EUR 500, GBP 400.50,JPY 9000") == {"EUR": 50_000, "GBP": 40_050, "JPY": 9_000}
    assert read_amounts("EUR 0") == {"EUR": 0}
