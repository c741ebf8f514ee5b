"""The numbers of prints in words, from whatever the warehouse answers."""

from typing import Any

import pytest
from babel import Locale
from django.utils import translation

from orders.shop.editions import EditionNumbers, is_numbered, numbers_in_words, numbers_of


def written(*numbers: int, language: str = "en") -> str:
    edition = EditionNumbers(numbers=numbers, size=100)
    with translation.override(language):
        return numbers_in_words(edition, locale=Locale.parse(language, sep="-"))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((12,), "No. 12 of 100"),
        ((12, 13), "Nos. 12 and 13 of 100"),
        ((1, 12, 40), "Nos. 1, 12, and 40 of 100"),
        ((12, 13, 14), "Nos. 12–14 of 100"),
        ((1, 3, 4, 5, 9, 10), "Nos. 1, 3–5, 9, and 10 of 100"),
    ],
)
def test_the_numbers_of_prints_in_words(numbers: tuple[int, ...], words: str) -> None:
    assert written(*numbers) == words


@pytest.mark.parametrize(
    ("language", "single", "pair"),
    [
        ("hu", "Sorszám: 12 (100 példányból)", "Sorszám: 12 és 13 (100 példányból)"),
        ("ko", "총 100장 중 12번", "총 100장 중 12 및 13번"),
        ("zh-hans", "编号 12（共 100 张）", "编号 12 和 13（共 100 张）"),  # noqa: RUF001 - as the Chinese write them
    ],
)
def test_the_numbers_of_prints_in_other_languages(language: str, single: str, pair: str) -> None:
    assert written(12, language=language) == single
    assert written(12, 13, language=language) == pair


def test_what_the_warehouse_answers() -> None:
    editions = [{"sku": "atlas", "numbers": [13, 12], "of": 100}, {"sku": "wave", "numbers": [1], "of": 5}]
    assert numbers_of({"reservation": "rsv_1", "editions": editions}) == {
        "atlas": EditionNumbers(numbers=(12, 13), size=100),
        "wave": EditionNumbers(numbers=(1,), size=5),
    }


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"editions": None},
        {"editions": {"sku": "atlas"}},
        {"editions": ["atlas", {"sku": "atlas"}]},
        {"editions": [{"sku": "atlas", "numbers": [], "of": 100}]},
        {"editions": [{"sku": "atlas", "numbers": [0], "of": 100}]},
        {"editions": [{"sku": "atlas", "numbers": ["1"], "of": 100}]},
        {"editions": [{"sku": "atlas", "numbers": [1], "of": True}]},
        {"editions": [{"sku": 7, "numbers": [1], "of": 100}]},
        {"editions": [{"sku": "atlas", "numbers": [1] * 1_000, "of": 100}]},
    ],
)
def test_an_answer_without_usable_numbers_gives_none(result: Any) -> None:
    assert numbers_of(result) == {}


def test_only_an_order_with_an_edition_is_numbered() -> None:
    assert is_numbered({"lines": [{"sku": "a"}, {"sku": "b", "edition": 5}]})
    assert not is_numbered({"lines": [{"sku": "a"}]})
    assert not is_numbered({})
