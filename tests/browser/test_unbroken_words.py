"""On a phone no word is broken without a hyphen, in text of twice the size either: it would not be recognised.

Chinese and Korean text may break after any syllable.
"""

import re
from collections.abc import Iterable

import pytest
from playwright.sync_api import Page
from pytest_django.plugin import DjangoDbBlocker

from sasweb.languages import SOURCE
from tests.browser.conftest import Opener
from tests.browser.customer_screen import NARROW, Screen, pages_in
from tests.browser.running import Shop
from tests.web.customer_pages import Shown

# A browser that knows a language would hyphenate it; without that, too, each word fits. What is in <code> has no words:
# numbers of orders, parcels and requests.
BROKEN = """async pages => {
    const mayBreakAfter = /[-\\u00ad\\u200b\\u2010\\u2012-\\u2014/?&]/u;
    const syllable = /[\\p{Script=Han}\\p{Script=Hangul}\\u3000-\\u303f\\uff00-\\uffef]/u;
    const range = document.createRange();
    const boxes = (text, start, length) => {
        range.setStart(text, start);
        range.setEnd(text, start + length);
        return [...range.getClientRects()].filter(box => box.width > 0);
    };
    const withBars = (text, word, start) => {
        let [shown, before, bottom] = ["", "", Infinity];
        for (const letter of word) {
            const box = boxes(text, start, letter.length).at(-1);
            const mayBreak = mayBreakAfter.test(before) || syllable.test(before + letter);
            shown += box?.top >= bottom && !mayBreak ? "|" + letter : letter;
            if (box) bottom = box.bottom - box.height / 4;
            before = letter;
            start += letter.length;
        }
        return shown;
    };
    const brokenIn = text => [...text.data.matchAll(/\\S+/gu)]
        .filter(({0: word, index}) => new Set(boxes(text, index, word.length).map(box => box.top)).size > 1)
        .map(({0: word, index}) => withBars(text, word, index))
        .filter(word => word.includes("|"));
    const isRead = element => element.checkVisibility({visibilityProperty: true})
        && !element.closest("script, style, svg, select, code, .unseen");
    const noHyphens = new CSSStyleSheet();
    noHyphens.replaceSync("* { hyphens: manual !important; }");
    document.adoptedStyleSheets = [noHyphens];
    const broken = [];
    for (const [name, html] of pages) {
        document.body.replaceWith(new DOMParser().parseFromString(html, "text/html").body);
        for (const folded of document.querySelectorAll("details")) folded.open = true;
        document.body.getBoundingClientRect();
        await document.fonts.ready;
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const element = texts.currentNode.parentElement;
            if (!isRead(element)) continue;
            for (const word of brokenIn(texts.currentNode))
                broken.push(`${name}: ${word} in ${element.localName}.${element.className}`);
        }
    }
    return broken;
}"""
STYLESHEET = re.compile(r'<link rel="stylesheet"[^>]*>')


def broken_words(page: Page, pages: Iterable[tuple[str, str]]) -> list[str]:
    """The words of named pages that do not fit their line, with a bar where they are broken. The pages have the
    stylesheets of the page that is shown, and follow each other in its place."""
    return list(page.evaluate(BROKEN, list(pages)))


@pytest.mark.parametrize("language", [SOURCE, "hu"])
def test_no_word_is_broken_on_a_phone_with_text_of_twice_the_size(
    shop: Shop, open_page: Opener, django_db_blocker: DjangoDbBlocker, language: str
) -> None:
    screen = Screen(open_page("about:blank", viewport=NARROW, allow="404", reduced_motion="reduce"))
    by_stylesheets: dict[tuple[str, ...], list[Shown]] = {}
    for shown in pages_in(language, django_db_blocker):
        by_stylesheets.setdefault(tuple(STYLESHEET.findall(shown.html)), []).append(shown)
    faults = []
    for alike in by_stylesheets.values():
        screen.put(alike[0])
        pages = [(shown.name, shown.html) for shown in alike]
        faults += [f"320 pixels: {fault}" for fault in broken_words(screen.page, pages)]
        with screen.styled_twice_the_size():
            faults += [f"text enlarged by a style: {fault}" for fault in broken_words(screen.page, pages)]
        with screen.twice_the_size():
            faults += [f"large text: {fault}" for fault in broken_words(screen.page, pages)]
    assert not faults, "\n".join(faults)


def test_a_broken_word_is_noticed(open_page: Opener) -> None:
    screen = Screen(open_page("about:blank", viewport=NARROW))
    style = "width: 11.5ch; font: 20px monospace; overflow-wrap: anywhere"
    text = "self-service, demonstrations, 가나다라마바사아자차카타파하 <code>0199d6a0-0000</code>"
    html = f"<p style='{style}'>{text}</p>"
    screen.put(Shown("words", "/", 200, html))
    assert broken_words(screen.page, [("words", html)]) == ["words: demonstrati|ons, in p."]
