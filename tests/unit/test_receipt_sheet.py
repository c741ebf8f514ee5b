"""A receipt as a PDF: its text stays text, every language shows, and any number of lines fits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import pytest
import typst
from babel import Locale
from django.utils import translation

from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.selectors.customer_order import CustomerLine
from orders.shop.editions import EditionNumbers
from orders.shop.owner import Owner
from orders.shop.receipts.contents import Receipt, Row, Seller, receipt_of
from orders.shop.receipts.glyphs import covered
from orders.shop.receipts.typesetting import STANDARDS, compiled, typeset
from tests.support.order_bodies import LONDON
from tests.support.pdf_text import read_pdf
from tests.unit.shop_orders import STEPS, forward

HOSTILE = '#sys.inputs #read("/etc/passwd") $x$ *bold* _i_ \\ "q" @ref <lab> // c `raw` = h [b] #{1+1} ~ --'
PAID = forward(dict.fromkeys(STEPS, "completed"))
OWNER = Owner(
    company="Lithos Prints Kft.",
    address=("Fő utca 1.", "1011 Budapest"),
    registration="VAT HU12345678",
    phone="+36 1 234 5678",
    return_days=14,
)


def receipt(
    *,
    name: str = "Ada",
    country: str = "GB",
    titles: Sequence[str] = ("Tidal Lines",),
    numbers: Mapping[str, EditionNumbers] | None = None,
) -> Receipt:
    """The receipt of an order of two of each of these, in the active language."""
    price = Money(amount=3900, currency="EUR")
    lines = [CustomerLine(sku=title, title=title, quantity=2, unit_price=price) for title in titles]
    tracked = PAID.tracked
    order = replace(tracked.order, lines=lines, total=Money(amount=7800 * len(lines), currency="EUR"))
    data = {"ship_to": {**LONDON, "name": name, "country": country}}
    return receipt_of(
        replace(tracked, order=order, data=data),
        owner=OWNER,
        shop_name="Lithos",
        help_address="hello@shop.example",
        is_demonstration=False,
        names={},
        numbers=numbers or {},
        locale=reader_locale(),
    )


def text_of(pdf: bytes) -> str:
    return "\n".join(read_pdf(pdf).pages)


def joined(text: str) -> str:
    """Without white space: where a line ends, and where a font changes, is the sheet's."""
    return "".join(text.replace("\u200b", "").split())


def test_what_a_customer_wrote_is_set_as_she_wrote_it() -> None:
    pdf = typeset(receipt(name=HOSTILE, titles=[HOSTILE]))
    assert joined(text_of(pdf)).count(joined(HOSTILE)) == 2


def test_a_receipt_keeps_the_standards_for_archives_and_for_screen_readers() -> None:
    pdf = typeset(receipt())
    assert b"<pdfaid:part>2</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance>" in pdf
    assert b"<pdfuaid:part>1</pdfuaid:part>" in pdf
    assert b"/MarkInfo<</Marked true" in pdf


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("hu", "Árvíztűrő Tükörfúrógép"),
        ("ko", "김철수 뷁"),
        ("zh-hans", "王珺 愛麗絲 あい"),
        ("en", "Ζωή Иван Đặng Łukasz"),
        ("en", "สมชาย ใจดี"),
        ("en", "प्रिया शर्मा"),
        ("en", "Արմեն გიორგი"),
    ],
)
def test_every_language_and_its_names_show(language: str, name: str) -> None:
    with translation.override(language):
        sheet = receipt(name=name)
    # It refuses a character without a glyph.
    text = joined(text_of(compiled(asdict(sheet), standards=STANDARDS)))
    assert joined(name) in text
    for words in (sheet.title, sheet.total, *(row.text for row in sheet.facts)):
        assert joined(words) in text


@pytest.mark.parametrize(
    ("name", "from_left"),
    [("משה שרה 5", "5הרשהשמ"), ("Ada שרה", "Adaהרש"), ("د 12", "12د"), ("12 د", "د12")],
)
def test_arabic_and_hebrew_are_read_from_the_right(name: str, from_left: str) -> None:
    sheet = replace(receipt(), customer=[name], facts=[], seller=Seller(name="Lithos", lines=[]))
    pdf = read_pdf(compiled(asdict(sheet), standards=STANDARDS))
    assert joined(pdf.from_left).startswith(joined(f"Lithos Receipt Seller Ships to Lithos {from_left} Item"))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada \U0001f381 Lovelace", "Ada Lovelace"),
        ("\U0001f469\u200d\U0001f469\u200d\U0001f467 Ada\u0001 1\ufe0f\u20e3", "Ada 1"),
        ("\U0001f130da", "Ada"),
        ("\U0001f381 \u1112\u1161\u11ab", "한"),
    ],
)
def test_what_no_font_has_is_left_out_or_shown_in_another_form(name: str, shown: str) -> None:
    sheet = receipt(name=name)
    with pytest.raises(typst.TypstError, match="could not be displayed"):
        compiled(asdict(sheet), standards=STANDARDS)
    pdf = typeset(sheet)
    assert b"<pdfuaid:part>1</pdfuaid:part>" in pdf
    assert f"Ships to\n{shown}\n12 St" in text_of(pdf)


def test_a_line_of_which_nothing_is_left_takes_no_place() -> None:
    assert "Ships to\n12 St James's Square\n" in text_of(typeset(receipt(name="\U0001f381")))


def test_letters_that_no_font_has_are_boxes_and_do_not_stop_a_receipt() -> None:
    pdf = typeset(receipt(name="தமிழ் \U0001f381 Ada"))
    assert b"<pdfuaid:part>" not in pdf
    assert joined("மிழ் Ada") in joined(text_of(pdf)), (
        "with the signs of its vowels; a PDF has one box as text"
    )


def test_every_character_that_counts_as_shown_is() -> None:
    """Those that are no white space, a hundred in a line."""
    codes = sorted(code for code in covered() if chr(code).isprintable() and chr(code) != " ")
    lines = ["".join(map(chr, codes[start : start + 100])) for start in range(0, len(codes), 100)]
    assert len(codes) > 23_000
    compiled(asdict(replace(receipt(), customer=lines)), standards=STANDARDS)


def test_a_hundred_lines_go_over_pages_that_say_which_they_are() -> None:
    titles = [f"Print {number}, 30 × 40 cm" for number in range(100)]
    pages = read_pdf(typeset(receipt(titles=titles))).pages
    assert len(pages) == 4
    for number, page in enumerate(pages, 1):
        assert f"Page {number} of 4" in page and page.count("Unit price") == 1
    assert [title for title in titles if not any(title in page for page in pages)] == []
    assert "Total paid\n€7,800.00\n" in pages[-1]


def test_one_page_has_no_number() -> None:
    assert "Page" not in text_of(typeset(receipt()))


def test_a_word_that_is_too_long_breaks_within_its_column() -> None:
    (page,) = read_pdf(typeset(receipt(name="Ж" * 200, titles=["Ж" * 120]))).pages
    assert max(piece.count("Ж") for piece in page.splitlines()) < 40
    assert joined(page).count("Ж") == 320


def test_the_same_receipt_is_the_same_file() -> None:
    sheet = receipt()
    assert typeset(sheet) == typeset(sheet)


@pytest.mark.parametrize(
    ("country", "size"), [("US", "612 792"), ("CA", "612 792"), ("GB", "595.2756 841.8898")]
)
def test_it_is_as_large_as_the_paper_of_the_country(country: str, size: str) -> None:
    assert f"/MediaBox[0 0 {size}]".encode() in typeset(receipt(country=country))


def test_what_stands_between_the_lines_and_the_total_is_shown() -> None:
    sheet = replace(
        receipt(),
        between=[Row(label="Delivery to Germany", text="€6.90")],
        included=[Row(label="Includes 21% VAT", text="€12.04")],
    )
    expected = "Delivery to Germany\n€6.90\nTotal paid\n€78.00\nIncludes 21% VAT\n€12.04\n"
    assert expected in text_of(typeset(sheet))


def test_it_says_who_was_paid_and_by_whom() -> None:
    seller = (
        "Lithos Prints Kft.\nFő utca 1.\n1011 Budapest\nVAT HU12345678\nhello@shop.example\n+36 1 234 5678\n"
    )
    customer = "Ships to\nAda\n12 St James's Square\nLondon\nSW1Y 4JH\nUnited Kingdom\n"
    text = text_of(typeset(receipt()))
    assert seller in text and customer in text


def test_a_demonstration_says_that_no_money_has_moved() -> None:
    words = "This is a demonstration: no money has moved."
    sheet = receipt()
    assert words not in sheet.small_print
    shown = receipt_of(
        PAID.tracked,
        owner=OWNER,
        shop_name="Lithos",
        help_address="",
        is_demonstration=True,
        names={},
        numbers={},
        locale=Locale("en"),
    )
    assert words in shown.small_print


def test_the_numbers_of_prints_stand_under_their_line() -> None:
    numbers = {"Atlas": EditionNumbers(numbers=(23, 24), size=25)}
    text = text_of(typeset(receipt(titles=["Tidal Lines", "Atlas"], numbers=numbers)))
    assert "Tidal Lines\n2\n€39.00\n€78.00\nAtlas\nNos. 23 and 24 of 25\n2\n€39.00\n€78.00\n" in text
