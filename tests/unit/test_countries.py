"""The names of countries."""

import pytest
from django.utils.translation import override

from orders.fields import countries


@pytest.mark.parametrize(
    ("language", "code", "name"),
    [
        ("en", "NL", "the Netherlands"),
        ("en", "US", "the United States"),
        ("en", "DE", "Germany"),
        ("en", "ZZ", "ZZ"),
        ("hu", "NL", "Hollandia"),
    ],
)
def test_a_name_in_a_sentence_has_its_article(language: str, code: str, name: str) -> None:
    with override(language):
        assert countries.name_in_sentence(code) == name


def test_each_country_with_an_article_has_a_name() -> None:
    assert {code for code, _name in countries.choices()} >= countries.WITH_ARTICLE


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("en", ("Hong Kong", "Macao")),
        ("hu", ("Hongkong", "Makaó")),
        ("ko", ("홍콩", "마카오")),
        ("zh-hans", ("中国香港", "中国澳门")),
    ],
)
def test_a_name_is_the_one_that_people_write(language: str, names: tuple[str, str]) -> None:
    with override(language):
        assert (countries.name("HK"), countries.name("MO")) == names
        assert names[0] in dict(countries.choices()).values()
