"""Draws the README's picture of orders a second and idle milliseconds from the tables in bench/results.md.

.venv/bin/python -m bench picture
"""

import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from bench import tables

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench" / "results.md"
PICTURE = PROJECT / "docs" / "images" / "figures.svg"
LABELS = {
    "sasweb": "sasweb",
    "restate": "Restate",
    "dbos": "DBOS",
    "procrastinate": "procrastinate",
    "django-q2": "django-q2",
    "temporal": "Temporal*",
}
"""How each is written; the bare loops of the table are not drawn. What the asterisk means stands below the picture."""
NOTE = "* its development server, on SQLite; not meant for production"

# Narrow, so that a phone need not shrink it to where nobody can read it. All lengths are in units of the picture.
WIDTH = 480
LEFT, RIGHT = 116, 400
"""Where the axes begin and end; the names are to the left of them, the figures to the right of what is drawn."""
ROW, HEAD, GAP = 26, 54, 18
STYLE = """
    text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1d2430; }
    .title { font-weight: 600; font-size: 16px; }
    .small { font-size: 12.5px; fill: #5a6472; }
    .name { text-anchor: end; }
    text.mark { text-anchor: middle; }
    path.mark { stroke: #dfe4eb; }
    .ours { font-weight: 600; }
    rect { fill: #a9b6c8; }
    line { stroke: #a9b6c8; stroke-width: 6; stroke-linecap: round; }
    circle { fill: #5a6472; }
    rect.ours, circle.ours { fill: #2457c5; }
    line.ours { stroke: #8fb0f2; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6eaf0; }
      .small { fill: #a3adba; }
      path.mark { stroke: #262e3a; }
      rect { fill: #4d5a6e; }
      line { stroke: #4d5a6e; }
      circle { fill: #b9c3d0; }
      rect.ours, circle.ours { fill: #7ba4ff; }
      line.ours { stroke: #3c5fa8; }
    }
"""


class Speed(NamedTuple):
    """The orders a second of one contender."""

    name: str
    rate: float


class Latency(NamedTuple):
    """The idle milliseconds of one contender."""

    name: str
    p50: float
    p99: float


def read_table(text: str, heading: str) -> dict[str, dict[str, str]]:
    """The first table after a heading. Raises `ValueError` when there is none."""
    section = re.split(r"^#+ ", text.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    table = re.search(r"(?:^\|.+\|$\n?){3,}", section, re.MULTILINE)
    if table is None:
        raise ValueError(f"there is no table below {heading!r}")
    return tables.read_table(table[0])


def read_speeds(text: str) -> list[Speed]:
    """Everybody's orders a second, the fastest first."""
    rows = read_table(text, "## Throughput")
    speeds = [Speed(name, tables.number(row["orders/s"])) for name, row in rows.items() if name in LABELS]
    return sorted(speeds, key=lambda speed: -speed.rate)


def read_latencies(text: str) -> list[Latency]:
    """Everybody's idle milliseconds, the quickest first."""
    rows = read_table(text, "### Idle, beside others")
    latencies = [
        Latency(name, tables.number(row["p50 ms"]), tables.number(row["p99 ms"]))
        for name, row in rows.items()
    ]
    return sorted(latencies, key=lambda latency: latency.p50)


def format_number(number: float) -> str:
    """A figure as the picture shows it."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def draw_name(name: str, top: float) -> str:
    """The name at the left of a row."""
    ours = " ours" if name == "sasweb" else ""
    return f'<text class="name{ours}" x="{LEFT - 8}" y="{top + 17:g}">{escape(LABELS[name])}</text>'


def draw_title(title: str, note: str, top: float) -> list[str]:
    """The two lines above a part of the picture."""
    return [
        f'<text class="title" x="12" y="{top + 18:g}">{escape(title)}</text>',
        f'<text class="small" x="12" y="{top + 37:g}">{escape(note)}</text>',
    ]


def draw_speeds(speeds: Sequence[Speed], top: float) -> list[str]:
    """Bars on a linear scale."""
    shapes = draw_title("Orders a second", "four steps, queue filled in advance; more is better", top)
    longest = max(speed.rate for speed in speeds)
    for at, (name, rate) in enumerate(speeds):
        y = top + HEAD + at * ROW
        length = max(1.0, (RIGHT - LEFT) * rate / longest)
        ours = ' class="ours"' if name == "sasweb" else ""
        shapes += [
            draw_name(name, y),
            f'<rect{ours} x="{LEFT}" y="{y + 4:g}" width="{length:.1f}" height="17" rx="2"/>',
            f'<text{ours} x="{LEFT + length + 7:.1f}" y="{y + 17:g}">{format_number(rate)}</text>',
        ]
    return shapes


def draw_latencies(latencies: Sequence[Latency], top: float) -> list[str]:
    """A dot at the median and a line from there to the 99th percentile, on a logarithmic scale."""
    shapes = draw_title(
        "Milliseconds from accepted to processed",
        "idle; dot p50, line to p99, logarithmic; less is better",
        top,
    )
    first = math.floor(math.log10(min(latency.p50 for latency in latencies)))
    decades = max(1.0, math.log10(max(latency.p99 for latency in latencies)) - first)

    def place(milliseconds: float) -> float:
        return LEFT + (RIGHT - LEFT - 30) * (math.log10(milliseconds) - first) / decades

    bottom = top + HEAD + len(latencies) * ROW
    for power in range(first, first + math.floor(decades) + 1):
        x = place(10.0**power)
        shapes += [
            f'<path class="mark" d="M{x:.1f} {top + HEAD:g}V{bottom:g}"/>',
            f'<text class="small mark" x="{x:.1f}" y="{bottom + 14:g}">{format_number(10.0**power)}</text>',
        ]
    for at, (name, p50, p99) in enumerate(latencies):
        y = top + HEAD + at * ROW
        ours = ' class="ours"' if name == "sasweb" else ""
        shapes += [
            draw_name(name, y),
            f'<line{ours} x1="{place(p50):.1f}" y1="{y + 12.5:g}" x2="{place(p99):.1f}" y2="{y + 12.5:g}"/>',
            f'<circle{ours} cx="{place(p50):.1f}" cy="{y + 12.5:g}" r="5.5"/>',
            f'<text{ours} x="{place(p99) + 11:.1f}" y="{y + 17:g}">{format_number(p50)} – {format_number(p99)}</text>',
        ]
    return shapes


def describe(speeds: Sequence[Speed], latencies: Sequence[Latency]) -> str:
    """The picture in words, for whoever does not see it."""
    rates = ", ".join(f"{LABELS[name].strip('*')} {format_number(rate)}" for name, rate in speeds)
    times = ", ".join(
        f"{LABELS[name].strip('*')} {format_number(p50)} and {format_number(p99)}"
        for name, p50, p99 in latencies
    )
    return (
        f"Orders a second from a queue filled in advance: {rates}."
        f" Milliseconds from accepted to processed when idle, median and 99th percentile: {times}."
        " Temporal is its development server on SQLite."
    )


def draw(text: str) -> str:
    """The picture of the figures in a text like bench/results.md. Raises `ValueError`."""
    speeds, latencies = read_speeds(text), read_latencies(text)
    second = HEAD + ROW * len(speeds) + GAP
    height = second + HEAD + ROW * len(latencies) + 50
    shapes = [
        *draw_speeds(speeds, 0),
        *draw_latencies(latencies, second),
        f'<text class="small" x="12" y="{height - 12}">{escape(NOTE)}</text>',
    ]
    body = "\n".join(f"  {shape}" for shape in shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">\n'
        '  <title id="title">The speed of sasweb beside others, on two cores</title>\n'
        f'  <desc id="desc">{escape(describe(speeds, latencies))}</desc>\n'
        f"  <style>{STYLE}  </style>\n{body}\n</svg>\n"
    )


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(draw(RESULTS.read_text()))
    print(f"{PICTURE.relative_to(PROJECT)} is drawn from {RESULTS.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
