"""The catalogues of translations: every sentence is found, each language has all of them, and mistakes are named."""

from pathlib import Path

import pytest
from django.utils.translation import ngettext, override

from sasweb import catalogues
from sasweb.languages import LANGUAGES, SOURCE


@pytest.fixture
def hungarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hungarian catalogue with every sentence, and no translation of any."""
    monkeypatch.setattr(catalogues, "LOCALE_DIR", tmp_path)
    assert catalogues.write("hu") > 400
    return tmp_path / "hu" / "LC_MESSAGES" / "django.po"


@pytest.mark.parametrize(
    "sentence",
    [
        "Your card was declined.",  # a word of the shop's customers
        "Cancel this order?",  # a template
        "Choose how to pay.",  # a form
    ],
)
def test_sentences_are_found_wherever_they_are_written(sentence: str) -> None:
    assert sentence in catalogues.sentences()


def test_what_operators_read_is_not_translated() -> None:
    places = {place for message in catalogues.sentences() for place, _ in message.locations}
    assert not {place for place in places if place.startswith(catalogues.IN_ENGLISH)}
    assert "The database does not answer" not in catalogues.sentences()  # on a page that customers see, too


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != SOURCE])
def test_every_sentence_is_translated_into_every_language(language: str) -> None:
    assert catalogues.find_faults(language) == []


def test_a_sentence_without_a_translation_is_named(hungarian: Path) -> None:
    assert "has 0 of 1 translations: 'Cancel this order?'" in catalogues.find_faults("hu")


@pytest.mark.parametrize(
    ("source", "translation", "fault"),
    [
        ("Your card was declined.", "A kártyát elutasították.", ""),
        (
            "“{title}” is in your cart.",
            "„{cím}” a kosárban van.",
            "differs in a value or a tag: '„{cím}” a kosárban van.'",
        ),
        ("“{title}” is in your cart.", "A kosárban van.", "differs in a value or a tag: 'A kosárban van.'"),
    ],
)
def test_a_translation_keeps_the_values_of_its_sentence(
    hungarian: Path, source: str, translation: str, fault: str
) -> None:
    text = hungarian.read_text()
    hungarian.write_text(
        text.replace(f'msgid "{source}"\nmsgstr ""', f'msgid "{source}"\nmsgstr "{translation}"')
    )
    assert [
        line for line in catalogues.find_faults("hu") if repr(translation) in line or repr(source) in line
    ] == ([fault] if fault else [])


def test_a_sentence_that_nobody_says_any_more_is_dropped(hungarian: Path) -> None:
    hungarian.write_text(hungarian.read_text() + '\nmsgid "Thou shalt wait"\nmsgstr "Várj"\n')
    assert "no longer said: (None, 'Thou shalt wait')" in catalogues.find_faults("hu")
    catalogues.write("hu")
    assert "Thou shalt" not in hungarian.read_text()


def test_translations_survive_an_update(hungarian: Path) -> None:
    hungarian.write_text(
        hungarian.read_text().replace(
            'msgid "Cancel this order?"\nmsgstr ""', 'msgid "Cancel this order?"\nmsgstr "Lemondja?"'
        )
    )
    assert "django.mo is not what django.po says: run bin/catalogues" in catalogues.find_faults("hu")
    catalogues.write("hu")
    assert 'msgstr "Lemondja?"' in hungarian.read_text()
    assert "django.mo is not what django.po says: run bin/catalogues" not in catalogues.find_faults("hu")


@pytest.mark.parametrize(
    ("language", "posters"),
    [
        ("en", ["0 posters", "1 poster", "3 posters"]),
        ("hu", ["0 poszter", "1 poszter", "3 poszter"]),
        ("ko", ["포스터 0종", "포스터 1종", "포스터 3종"]),
        ("zh-hans", ["0 款海报", "1 款海报", "3 款海报"]),
    ],
)
def test_numbers_have_the_plural_of_their_language_also_in_sentences_of_django(
    language: str, posters: list[str]
) -> None:
    """Django's Hungarian has two forms and ours has one: in Hungarian, a noun behind a number stays in the singular."""
    needs = "Ensure this value has at least %(limit_value)d character (it has %(show_value)d)."
    need = needs.replace("character", "characters")
    with override(language):
        sentences = [ngettext("%(total)s poster", "%(total)s posters", n) % {"total": n} for n in (0, 1, 3)]
        of_django = {ngettext(needs, need, n) for n in (1, 3)}
    assert sentences == posters
    assert (of_django <= {needs, need}) == (language == "en")
