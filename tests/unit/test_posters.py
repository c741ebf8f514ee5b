"""Posters: a design always gives the same picture, small and well-formed, whatever is in the design."""

import hashlib
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.shop import posters
from orders.shop.demo.posters import POSTERS
from orders.shop.posters import lines
from orders.shop.posters.sheet import Chance, Palette, Sheet

LARGEST = 6 * 1024
EVERY_FORM = [(family, form) for family, forms in posters.FAMILIES.items() for form in forms]
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "defs", "linearGradient", "radialGradient", "stop", "clipPath", "g", "rect", "circle", "path"}


def assert_sound(picture: str) -> None:
    """Fails unless the picture is well-formed, small, 3:4, and made of shapes only."""
    root = ElementTree.fromstring(picture)
    assert root.get("viewBox") == "0 0 600 800"
    assert len(picture.encode()) <= LARGEST
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in DRAWN
        assert "style" not in element.attrib
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "nan" not in value and "inf" not in value
            assert "url(" not in value or re.fullmatch(r"url\(#p[0-9a-f]{12}-\d+\)", value)


@pytest.mark.parametrize("poster", POSTERS, ids=lambda poster: poster.sku)
def test_every_poster_of_the_catalogue_is_sound_and_has_a_form_of_its_family(poster: Any) -> None:
    assert poster.form in posters.FAMILIES[poster.family]
    assert_sound(posters.draw(poster.design()))


def test_no_two_posters_of_the_catalogue_are_alike() -> None:
    assert len({posters.draw(poster.design()) for poster in POSTERS}) == len(POSTERS)
    assert len({poster.form for poster in POSTERS}) == len(POSTERS)


@pytest.mark.parametrize(("family", "form"), EVERY_FORM)
def test_every_form_is_sound_with_any_seed(family: str, form: str) -> None:
    for seed in range(25):
        assert_sound(posters.draw({"family": family, "form": form, "seed": seed * 104_729}))


@pytest.mark.parametrize(("family", "form"), EVERY_FORM)
def test_only_the_seed_decides_the_drawing(family: str, form: str) -> None:
    design = {"family": family, "form": form, "seed": 4}
    assert posters.draw(design) == posters.draw(dict(design))
    assert posters.draw(design) != posters.draw({**design, "seed": 5})


def test_changing_a_drawing_changes_its_urls() -> None:
    """Browsers keep a picture for ever. When this fails, raise `posters.DRAWN` and enter the new fingerprint here."""
    drawn = "".join(posters.draw(poster.design()) for poster in POSTERS)
    assert (posters.DRAWN, hashlib.sha256(drawn.encode()).hexdigest()[:16]) == ("1", "a54494458785a879")


def test_the_fingerprint_changes_only_with_the_drawing() -> None:
    design = POSTERS[0].design()
    changed = [
        {**design, "seed": 12},
        {**design, "form": "swell"},
        {**design, "palette": ["#000000", *design["palette"][1:]]},
    ]
    assert len({posters.fingerprint(variant) for variant in (design, *changed)}) == 4
    assert posters.fingerprint({**design, "note": "not drawn"}) == posters.fingerprint(design)


def test_ids_do_not_clash_when_posters_share_a_page() -> None:
    names = [re.findall(r' id="([^"]+)"', posters.draw(poster.design())) for poster in POSTERS]
    together = [name for poster_names in names for name in poster_names]
    assert together and len(together) == len(set(together))


HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    "design",
    [
        None,
        [],
        "waves",
        7,
        {"family": HOSTILE, "form": HOSTILE, "seed": HOSTILE, "palette": HOSTILE},
        {"family": "__class__", "seed": True, "palette": {"0": "#fff"}},
        {"family": "waves", "palette": [HOSTILE, "url(https://evil.example)", "#12345", "#1234567", None]},
        {"family": "sun", "palette": ["#ffffff\n", "red", 3, [], {}] * 1000},
        {"family": ["waves"], "form": {"a": 1}, "seed": 10**400},
        {"family": "grid", "seed": -1},
        {"family": "bauhaus", "seed": 1.5},
    ],
)
def test_a_hostile_design_gives_a_harmless_picture(design: object) -> None:
    picture = posters.draw(design)
    assert_sound(picture)
    assert "script" not in picture
    assert "evil" not in picture


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries({}, optional={"family": JSON, "form": JSON, "seed": JSON, "palette": JSON}) | JSON
)
def test_any_stored_design_is_drawn(design: object) -> None:
    assert_sound(posters.draw(design))


def test_even_values_that_only_our_code_writes_are_escaped() -> None:
    plain = Palette(ground="#ffffff", ink="#000000", mid="#000000", soft="#000000", accent="#000000")
    sheet = Sheet(key="p", seed=1, palette=plain)
    sheet.rect(0, 0, 1, 1, fill=HOSTILE)
    assert "<script>" not in sheet.svg()
    ElementTree.fromstring(sheet.svg())


def test_contours_follow_the_height() -> None:
    """A cone's contour is a circle around its top."""
    land = lines.sampled(lambda x, y: 1 - ((x - 0.5) ** 2 + (y - 0.5) ** 2) ** 0.5, columns=40, rows=40)
    (line,) = lines.contours(land, 0.7)
    assert line[0] == line[-1]
    assert all(abs(((x / 40 - 0.5) ** 2 + (y / 40 - 0.5) ** 2) ** 0.5 - 0.3) < 0.01 for x, y in line)


def test_random_choices_stay_within_their_limits() -> None:
    chance = Chance(1)
    assert {chance.whole(2, 4) for _ in range(200)} == {2, 3, 4}
    assert all(-1 <= chance.between(-1, 1) <= 1 for _ in range(200))
