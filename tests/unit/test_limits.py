"""`LIMITS` changes what it names and nothing else."""

import pytest

from orders.fields.text import has_web_address
from sasweb.limits import DEFAULTS, Limit, read_limits


def test_without_a_value_the_defaults_apply() -> None:
    assert read_limits("") == DEFAULTS


def test_named_limits_change_and_the_others_stay() -> None:
    changed = read_limits(" orders.token=50/60, search.address=off ")
    assert changed["orders.token"] == Limit(most=50, seconds=60)
    assert "search.address" not in changed
    others = DEFAULTS.keys() - {"orders.token", "search.address"}
    assert {name: changed[name] for name in others} == {name: DEFAULTS[name] for name in others}


def test_off_ends_all_limits() -> None:
    assert read_limits("off") == {}


WRONG = (
    *("orders.token", "orders.token=5", "orders.token=0/60", "orders.token=5/0", "orders.token=-1/60", "on"),
    *("orders.token=5/60s", "orders.token=²/60", "nothing=5/60", "orders.token=5/60,"),
    "orders.token=5/99999999",
)
LINKS = (
    *(
        "You won! Claim at https://win.example/x",
        "www.win.example",
        "WWW.WIN.example",
        "see win-now.com today",
    ),
    *("bit.ly/3xYz", "ftp://a.b", "see win.shop", "a.co/b"),
    *("\uff57\uff57\uff57.win.example", "win\uff0ecom"),  # letters that look the same in an email
    *("win-now.co", "win-now.co.uk", "claim.me", "prize.ai", "now at prize.eu", "prize.zip", "PRIZE.pro"),
    "win\u3002com",  # a dot for browsers
)
ADDRESSES = (
    *(
        "Ada Lovelace",
        "J.R.R. Tolkien",
        "Dr. A. St.John",
        "Hauptstr. 5",
        "Hauptstr.5/7",
        "12/3 Rue St.Honoré",
    ),
    *(
        "O.com",
        "Rte.de Lyon 4",
        "c/o M. Curie",
        "Mr.Top",
        "St. Info",
        "1011 AB",
        "Unit 4.2/B",
        "Max Müller e.K.",
    ),
    *("St.Gallen", "Mrs.Li", "Fam.de Vries", "House.No 12", "Haus.Nr. 5", "Main.St", "C.O.Meara"),
)


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        read_limits(text)


@pytest.mark.parametrize("text", LINKS)
def test_a_web_address_is_recognised(text: str) -> None:
    assert has_web_address(text)


@pytest.mark.parametrize("text", ADDRESSES)
def test_a_postal_address_is_not_taken_for_one(text: str) -> None:
    assert not has_web_address(text)
