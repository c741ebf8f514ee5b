"""The README's picture of the figures cannot disagree with the tables that it is drawn from."""

import math
import re
from xml.etree import ElementTree

import pytest

from bench import picture
from bench.contenders.contest import CONTENDERS

TABLES = """
## Throughput

|           | orders | orders/s |
| --------- | ------ | -------- |
| loop      |  12000 |    1,771 |
| sasweb    |  12000 |      800 |
| dbos      |   1200 |       80 |
| temporal  |   1200 |    1,600 |

| | how it runs here |
| --- | --- |
| dbos | on PostgreSQL |

## Latency

| agents (ms) | orders |
| ----------- | ------ |
| no-op       |    100 |

### Idle, beside others

| idle (ms) | orders | p50 ms | p99 ms |
| --------- | ------ | ------ | ------ |
| sasweb    |     60 |   8.25 |   12.4 |
| dbos      |     60 |    124 |    224 |
| temporal  |     60 |     75 | 1,120  |
"""


def shapes(svg: str, tag: str) -> list[dict[str, str]]:
    """The attributes of every shape of a kind, in the order of the picture."""
    return [
        element.attrib for element in ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")
    ]


def test_the_committed_picture_is_what_the_tables_give() -> None:
    assert picture.PICTURE.read_text() == picture.draw(picture.RESULTS.read_text()), (
        "run .venv/bin/python -m bench picture"
    )


def test_bars_are_as_long_as_the_figures_are_large_and_bare_loops_are_not_drawn() -> None:
    bars = shapes(picture.draw(TABLES), "rect")
    lengths = [float(bar["width"]) for bar in bars]
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 0.5, 0.05], abs=0.001)
    assert [bar.get("class") for bar in bars] == [None, "ours", None]


def test_times_are_drawn_from_the_median_to_the_99th_percentile_the_quickest_first() -> None:
    lines = shapes(picture.draw(TABLES), "line")
    spans = [(float(line["x1"]) - picture.LEFT, float(line["x2"]) - picture.LEFT) for line in lines]
    decade = spans[1][1] / math.log10(1120)  # the scale is logarithmic, and begins at one millisecond
    assert [(10 ** (start / decade), 10 ** (end / decade)) for start, end in spans] == [
        pytest.approx((8.25, 12.4), rel=0.01),
        pytest.approx((75, 1120), rel=0.01),
        pytest.approx((124, 224), rel=0.01),
    ]


def test_the_picture_says_every_figure_in_words() -> None:
    root = ElementTree.fromstring(picture.draw(TABLES))
    texts = {element.get("id"): element.text or "" for element in root.iter() if element.get("id")}
    assert root.get("aria-labelledby") == " ".join(texts) == "title desc"
    for figures in ("Temporal 1,600, sasweb 800, DBOS 80", "sasweb 8.2 and 12, Temporal 75 and 1,120"):
        assert figures in texts["desc"]


def test_nothing_that_the_picture_says_leaves_it() -> None:
    """In the widest of the usual fonts a letter is 0.54 times as wide as it is large, and 0.62 times when bold."""
    svg = picture.draw(picture.RESULTS.read_text())
    texts = re.findall(r'<text(?: class="([a-z ]+)")? x="([\d.]+)"[^>]*>([^<]+)<', svg)
    assert len(texts) > 4 * len(CONTENDERS)
    for kind, x, text in texts:
        size = 16 if kind == "title" else 12.5 if "small" in kind else 14
        width = (0.62 if kind in ("title", "ours") else 0.54) * size * len(text)
        room = float(x) if "name" in kind else picture.WIDTH - float(x)
        assert width < room, text


def test_every_contender_is_drawn() -> None:
    assert sorted(picture.LABELS) == sorted(["sasweb", *CONTENDERS])


@pytest.mark.parametrize("heading", ["## Throughput", "### Idle, beside others"])
def test_a_table_that_is_missing_is_named(heading: str) -> None:
    with pytest.raises(ValueError, match=heading):
        picture.draw(TABLES.replace(heading, "## Something else"))
