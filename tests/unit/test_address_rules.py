"""The rules of every country's addresses: its parts, its postal codes, and how an address is written."""

import pytest
from django.utils import translation

from orders.fields import countries
from orders.fields.address_inputs import state_choices
from orders.fields.address_rules import Mistake, address_lines, mistakes, rules_of, tidy_address
from orders.fields.address_words import mistake_words, part_label
from orders.fields.postal_address import is_phone
from sasweb.languages import LANGUAGES
from tests.support.order_bodies import DELFT, LONDON, PARIS

CODES = [code for code, _name in countries.choices()]
WHERE = {"name": "Ada", "street": "1 Main St", "line2": "Flat 2", "city": "Town"}
SEATTLE = {**WHERE, "city": "Seattle", "state": "WA", "postal_code": "98101", "country": "US"}
KOWLOON = {**WHERE, "city": "Mong Kok", "state": "Kowloon", "country": "HK"}


@pytest.mark.parametrize("code", CODES)
def test_every_country_has_rules_that_its_own_example_keeps(code: str) -> None:
    rules = rules_of(code)
    assert rules.country == code
    assert set(rules.place) == {"city", *(part for part in ("state", "postal_code") if rules.has(part))}
    assert all(rules.has(part) for part in ("state", "postal_code") if rules.needs(part))
    assert rules.example or not rules.needs_postal_code
    for example in rules.examples if rules.has_postal_code else ():
        assert rules.fits(example)
        for typed in (example, example.lower(), example.replace(" ", "").replace("-", ""), f" {example} "):
            assert rules.tidy_postal_code(typed) == example
    for state in rules.states:
        assert {rules.find_state(text) for text in (state.code, state.native, state.latin)} == {state}


@pytest.mark.parametrize("code", CODES)
def test_a_whole_address_of_every_country_has_no_mistakes_and_is_written_with_all_its_parts(
    code: str,
) -> None:
    rules = rules_of(code)
    state = rules.states[0].code if rules.states else "Middle"
    address = tidy_address(
        {**WHERE, "state": state, "postal_code": rules.example, "country": code, "phone": "+36 1 234 5678"}
    )
    assert mistakes(address) == {}
    written = address_lines(address, country_name="Land")
    assert written[-1] == "Land" and written.index("Flat 2") == 1 + next(
        index for index, line in enumerate(written) if "1 Main St" in line
    )
    for part in ("Ada", "1 Main St", "Town", address.get("postal_code", "")):
        assert part in "\n".join(written)
    assert "1 234 5678" not in "\n".join(written)
    assert all(line == line.strip(" ,-/") for line in written)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_part_has_a_name_and_every_mistake_a_sentence_in_every_language(language: str) -> None:
    with translation.override(language):
        for code in CODES:
            rules = rules_of(code)
            assert all(part_label(part, rules) for part in ("city", "state", "postal_code"))
            assert rules.example in mistake_words("postal_code", Mistake.MISSING, rules)
            assert len(dict(state_choices(rules))) == len(rules.states) + 1


@pytest.mark.parametrize(
    ("country", "typed", "written"),
    [
        ("GB", "sw1y4jh", "SW1Y 4JH"),
        ("GB", "SW1 Y4JH", "SW1Y 4JH"),
        ("NL", "2611ab", "2611 AB"),
        ("NL", "NL-2611 AB", "2611 AB"),
        ("CA", "k1a0b1", "K1A 0B1"),
        ("DE", "D-10115", "10115"),
        ("CH", "CH 8001", "8001"),
        ("JP", "\uff11\uff15\uff10\uff10\uff10\uff14\uff13", "150-0043"),
        ("US", "981011234", "98101-1234"),
        ("SE", "114 55", "114 55"),
        ("PL", "00–950", "00-950"),
    ],
)
def test_a_postal_code_is_put_into_the_form_of_its_country(country: str, typed: str, written: str) -> None:
    assert rules_of(country).tidy_postal_code(typed) == written
    assert rules_of(country).fits(written)


@pytest.mark.parametrize(
    ("country", "code"), [("DE", "1011"), ("NL", "2611"), ("GB", "10115"), ("US", "ABCDE"), ("CA", "12345")]
)
def test_a_code_of_another_country_is_a_mistake_and_stays_as_it_was_typed(country: str, code: str) -> None:
    address = tidy_address({**WHERE, "postal_code": code, "country": country, "state": "CA"})
    assert address["postal_code"] == code
    assert mistakes(address)["postal_code"] is Mistake.WRONG_POSTAL_CODE


def test_an_address_loses_what_its_country_does_not_have() -> None:
    typed = {**KOWLOON, "postal_code": "000", "phone": ""}
    assert tidy_address({**typed, "country": "HK"}) == KOWLOON
    assert "state" not in tidy_address({**typed, "country": "DE"})


def test_a_state_is_known_by_its_code_and_by_its_names() -> None:
    for typed in ("WA", "wa", "Washington", " washington "):
        assert tidy_address({**SEATTLE, "state": typed}) == SEATTLE
    assert mistakes({**SEATTLE, "state": "Ontario"}) == {"state": Mistake.UNKNOWN_STATE}
    missing = {part: text for part, text in SEATTLE.items() if part != "state"}
    assert mistakes(missing) == {"state": Mistake.MISSING}
    tokyo = rules_of("JP").find_state("Tokyo")
    assert tokyo is not None and tokyo.code == "東京都" and tokyo == rules_of("JP").find_state("東京都")


def test_a_state_is_named_in_latin_letters_except_to_those_who_read_its_own() -> None:
    with translation.override("ko"):
        assert ("서울특별시", "서울") in state_choices(rules_of("KR"))
    with translation.override("hu"):
        assert ("서울특별시", "Seoul") in state_choices(rules_of("KR"))
        assert ("CA", "California") in state_choices(rules_of("US"))


def test_an_address_is_written_as_in_its_country() -> None:
    assert address_lines(SEATTLE, country_name="USA") == [
        "Ada",
        "1 Main St",
        "Flat 2",
        "Seattle, WA 98101",
        "USA",
    ]
    assert address_lines(KOWLOON, country_name="HK") == [
        "Ada",
        "1 Main St",
        "Flat 2",
        "Mong Kok",
        "Kowloon",
        "HK",
    ]
    assert address_lines(DELFT, country_name="NL") == ["Ada", "Lane 1", "2611 AB Delft", "NL"]
    assert address_lines(LONDON, country_name="UK")[2:] == ["London", "SW1Y 4JH", "UK"]
    assert address_lines(PARIS, country_name="FR")[2:] == ["75001 Paris", "FR"]
    shibuya = {"city": "渋谷区", "state": "東京都", "postal_code": "150-0043", "country": "JP"}
    native = {**shibuya, "name": "山田 花子", "street": "道玄坂1-2-3"}
    assert address_lines(native, country_name="日本") == [
        *("〒150-0043", "東京都渋谷区", "道玄坂1-2-3", "山田 花子", "日本"),
    ]
    latin = {**shibuya, "name": "Hanako Yamada", "street": "1-2-3 Dogenzaka", "city": "Shibuya"}
    assert address_lines(latin, country_name="Japan") == [
        *("Hanako Yamada", "1-2-3 Dogenzaka", "Shibuya, Tokyo", "150-0043", "Japan"),
    ]


@pytest.mark.parametrize(
    "address", [{}, {"country": "XX", "city": "Town"}, {"country": "../us", "name": "Ada"}]
)
def test_what_is_no_address_is_written_too(address: dict[str, str]) -> None:
    texts = [text for part, text in address.items() if part != "country"]
    assert address_lines(address, country_name="") == texts


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("+36 1 234 5678", True),
        ("(020) 7946-0958", True),
        ("020/123.456", True),
        ("12345", True),
        ("1234", False),
        ("+", False),
        ("call me", False),
        ("+36 1 234 5678 ext 9", False),
        ("1" * 19, False),
        ("1 2 3 4 5" + " " * 40, False),
    ],
)
def test_a_phone_number_has_digits_and_little_else(text: str, is_one: bool) -> None:
    assert is_phone(text) is is_one
