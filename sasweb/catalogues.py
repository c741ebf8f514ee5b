"""The catalogues of translations: finds every sentence that customers read, and brings `locale/` up to date.

    bin/catalogues            adds the new sentences to each language's django.po, and compiles django.mo

Django's own makemessages needs the programs of GNU gettext; this needs Babel alone, so that a test can do it, too
(tests/unit/test_catalogues.py). What is no longer said is dropped, and nothing is guessed: a new sentence has no
translation until somebody writes one. The API, the console and the admin site speak English.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

from sasweb.config import PROJECT_DIR
from sasweb.languages import LANGUAGES, SOURCE

LOCALE_DIR = PROJECT_DIR / "locale"
IN_ENGLISH = (
    *("orders/admin.py", "orders/api", "orders/console", "orders/access/api_tokens.py"),
    *("templates/admin", "templates/api", "templates/console", "templates/storefront/design.html"),
)
"""What only operators and programmers read."""
KEYWORDS = {
    **dict.fromkeys(("gettext", "gettext_lazy", "gettext_noop", "_", "lazy"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
CHANGING = re.compile(
    rb'^"(?:Project-Id-Version|Report-Msgid-Bugs-To|POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team'
    rb"|Generated-By):.*\n",
    re.MULTILINE,
)
"""Headers that nobody fills in, or that differ at every run."""
TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""What a compiled catalogue has for the times of its headers, or Babel would fill in the present."""
PLACEHOLDERS = re.compile(r"%\(\w+\)[a-z]|\{\w*\}|</?[a-z][^>]*>")
"""What a translation has to take over as it is: values and tags."""


def sentences() -> Catalog:
    """Every sentence that customers read, with where it is said."""
    catalog = Catalog()
    for name, message, comments, context in _found():
        catalog.add(message, locations=[(name, 0)], auto_comments=comments, context=context)
    return catalog


def updated(language: str) -> Catalog:
    """A language's catalogue with the sentences of today; those without a translation are empty."""
    catalog = _read(language)
    catalog.update(sentences(), no_fuzzy_matching=True, update_header_comment=False)
    catalog.obsolete.clear()
    return catalog


def find_faults(language: str) -> Sequence[str]:
    """What is wrong with a language's files, a line each; nothing if all is well."""
    present, catalog = _read(language), updated(language)
    faults = [fault for message in catalog if message.id for fault in _faults(message, catalog.num_plurals)]
    new = {_key(message) for message in catalog} - {_key(message) for message in present}
    old = {_key(message) for message in present} - {_key(message) for message in catalog}
    faults += [f"not in django.po: {key}" for key in sorted(map(str, new))]
    faults += [f"no longer said: {key}" for key in sorted(map(str, old))]
    if _compiled(present) != (_folder(language) / "django.mo").read_bytes():
        faults.append("django.mo is not what django.po says: run bin/catalogues")
    return faults


def write(language: str) -> int:
    """Writes a language's files. Returns how many sentences have no translation yet."""
    catalog = updated(language)
    catalog.header_comment = f"# {LANGUAGES[language]}: what customers read. bin/catalogues adds what is new."
    text = BytesIO()
    write_po(text, catalog, width=110, include_lineno=False, sort_output=True)
    _folder(language).mkdir(parents=True, exist_ok=True)
    (_folder(language) / "django.po").write_bytes(CHANGING.sub(b"", text.getvalue()))
    (_folder(language) / "django.mo").write_bytes(_compiled(_read(language)))
    return sum(not _strings(message) for message in catalog if message.id)


@cache
def _found() -> Sequence[tuple[str, Any, list[str], str | None]]:
    """The sentences of all files. Reading them takes a second or two."""
    return [
        (path.relative_to(PROJECT_DIR).as_posix(), message, comments, context)
        for path in _sources()
        for _, message, comments, context in extract("python", BytesIO(_as_python(path)), keywords=KEYWORDS)
    ]


def _sources() -> Iterator[Path]:
    for folder, endings in (("orders", {".py"}), ("templates", {".html", ".txt"})):
        for path in sorted((PROJECT_DIR / folder).rglob("*")):
            name = path.relative_to(PROJECT_DIR).as_posix()
            if path.suffix in endings and not any(
                name == place or name.startswith(f"{place}/") for place in IN_ENGLISH
            ):
                yield path


def _as_python(path: Path) -> bytes:
    """A file as Python: of a template, only its sentences. Django indents them as they are in the template."""
    if path.suffix == ".py":
        return path.read_bytes()
    text = templatize(path.read_text(), origin=str(path))
    return "\n".join(line.strip() for line in text.splitlines()).encode()


def _folder(language: str) -> Path:
    return LOCALE_DIR / to_locale(language) / "LC_MESSAGES"


def _read(language: str) -> Catalog:
    path = _folder(language) / "django.po"
    if not path.exists():
        return Catalog(locale=to_locale(language), project="sasweb", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=to_locale(language))


def _compiled(catalog: Catalog) -> bytes:
    """The same for the machine, without what has no translation, and with the same bytes at whatever time."""
    translated = Catalog(locale=catalog.locale, project="sasweb", creation_date=TIME, revision_date=TIME)
    for message in catalog:
        if message.id and _strings(message):
            translated.add(message.id, message.string, context=message.context)
    file = BytesIO()
    write_mo(file, translated)
    return file.getvalue()


def _key(message: Message) -> tuple[str | None, object]:
    return message.context, message.id


def _strings(message: Message) -> list[str]:
    strings = [message.string] if isinstance(message.string, str) else list(message.string or ())
    return [string for string in strings if string]


def _faults(message: Message, plurals: int) -> Iterator[str]:
    sources = [message.id] if isinstance(message.id, str) else list(message.id)
    strings, forms = _strings(message), plurals if message.pluralizable else 1
    if len(strings) != forms:
        yield f"has {len(strings)} of {forms} translations: {sources[0]!r}"
    if message.fuzzy:
        yield f"is marked as fuzzy: {sources[0]!r}"
    allowed = [Counter(PLACEHOLDERS.findall(source)) for source in sources]
    for string in strings:
        if Counter(PLACEHOLDERS.findall(string)) not in allowed:
            yield f"differs in a value or a tag: {string!r}"


def main() -> None:
    """Brings the catalogues of all languages up to date, and says what has no translation yet."""
    for language in LANGUAGES:
        if language != SOURCE:
            missing = write(language)
            sys.stdout.write(
                f"{language}: {missing or 'no'} {'sentence' if missing == 1 else 'sentences'} to translate\n"
            )


if __name__ == "__main__":
    main()
