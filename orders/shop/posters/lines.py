"""Lines for posters: smooth curves through points, waves, noise, the contours of a landscape. Pure."""

import math
from collections.abc import Callable, Iterable, Sequence

from orders.shop.posters.sheet import Chance, Point, number

Height = Callable[[float, float], float]
Heights = Sequence[Sequence[float]]
Cell = tuple[float, float]


def polygon(points: Sequence[Point]) -> str:
    """A closed figure with straight sides."""
    return f"M{'L'.join(f'{number(x)} {number(y)}' for x, y in points)}z"


def around(x: float, y: float, radius: float, turn: float) -> str:
    """The point at this angle on a circle, to the nearest unit."""
    return f"{x + radius * math.cos(turn):.0f} {y + radius * math.sin(turn):.0f}"


def smooth(points: Sequence[Point], *, closed: bool = False, ends: str = "") -> str:
    """A smooth curve through the points (Catmull-Rom); `ends` is appended, as in `V800H0z` to fill what is below.

    Coordinates are whole and relative: half the bytes, and finer than paper shows.
    """
    if len(points) < 3:
        return ""
    rounded = [(round(x), round(y)) for x, y in points]
    before, behind = ([rounded[-1]], rounded[:2]) if closed else (rounded[:1], rounded[-1:])
    through = [*before, *rounded, *behind]
    (before_x, before_y), (x, y), (after_x, after_y) = through[:3]
    start = f"M{x} {y}c" + _pairs(round((after_x - before_x) / 6), round((after_y - before_y) / 6))
    parts: list[str] = []
    for here, there, beyond in zip(through[1:], through[2:], through[3:], strict=False):
        end = there[0] - here[0], there[1] - here[1]
        bend = end[0] - round((beyond[0] - here[0]) / 6), end[1] - round((beyond[1] - here[1]) / 6)
        parts.append(_pairs(*bend, *end))
    return start + _joined(parts[:1]) + "s" + _joined(parts[1:]).lstrip() + ("z" if closed else ends)


def _pairs(*values: int) -> str:
    text = ""
    for value in values:
        text += str(value) if value < 0 or not text else f" {value}"
    return text


def _joined(parts: Iterable[str]) -> str:
    return "".join(part if part.startswith("-") else f" {part}" for part in parts)


def ridge(chance: Chance, *, level: float, rise: float, step: float = 75, rough: float = 1.0) -> list[Point]:
    """Points of a skyline from beyond the left edge to beyond the right one, around `level`."""
    bumps = [
        (chance.between(0.6, 1.4) * size, chance.between(0.7, 1.3) * length, chance.between(0, math.tau))
        for size, length in ((1.0, 420.0), (0.42 * rough, 190.0), (0.2 * rough, 90.0))
    ]
    points = []
    for index in range(round(660 / step) + 2):
        x = -30 + index * step
        lift = sum(size * math.sin(math.tau * x / length + shift) for size, length, shift in bumps)
        points.append((x, level - rise * lift / 1.6))
    return points


def noise(chance: Chance, *, cells: int = 8) -> Height:
    """A smooth random landscape: heights from 0 to 1, for coordinates from 0 to 1."""
    values = [[chance.between(0, 1) for _ in range(cells + 2)] for _ in range(cells + 2)]

    def height(x: float, y: float) -> float:
        column, row = min(max(x, 0), 1) * cells, min(max(y, 0), 1) * cells
        left, top = int(column), int(row)
        across, down = _eased(column - left), _eased(row - top)
        upper = values[top][left] + (values[top][left + 1] - values[top][left]) * across
        lower = values[top + 1][left] + (values[top + 1][left + 1] - values[top + 1][left]) * across
        return upper + (lower - upper) * down

    return height


def _eased(share: float) -> float:
    return share * share * (3 - 2 * share)


def sampled(height: Height, *, columns: int, rows: int) -> Heights:
    """A landscape's heights at the corners of a grid."""
    return [[height(x / columns, y / rows) for x in range(columns + 1)] for y in range(rows + 1)]


def contours(land: Heights, level: float) -> list[list[Point]]:
    """The lines along which a landscape has this height, in units of one grid cell (marching squares)."""
    grid = [[height - level for height in row] for row in land]
    following: dict[Cell, list[Cell]] = {}
    for row in range(len(grid) - 1):
        for column in range(len(grid[0]) - 1):
            for first, second in _crossings(grid, column, row):
                following.setdefault(first, []).append(second)
                following.setdefault(second, []).append(first)
    return _chained(following)


def _crossings(grid: Heights, column: int, row: int) -> list[tuple[Cell, Cell]]:
    corners = ((column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1))
    heights = [grid[y][x] for x, y in corners]
    cut: list[Cell] = []
    for index, (x, y) in enumerate(corners):
        next_x, next_y = corners[(index + 1) % 4]
        here, there = heights[index], heights[(index + 1) % 4]
        if (here < 0) != (there < 0):
            # From the same end for both cells that share the side, so that they agree to the last bit.
            if (next_x, next_y) < (x, y):
                x, y, next_x, next_y, here, there = next_x, next_y, x, y, there, here
            share = here / (here - there)
            cut.append((x + (next_x - x) * share, y + (next_y - y) * share))
    return [(cut[at], cut[at + 1]) for at in range(0, len(cut) - 1, 2)]


def _chained(following: dict[Cell, list[Cell]]) -> list[list[Point]]:
    """Chains pieces into lines, open lines first, from their ends. A closed line ends where it began."""
    lines: list[list[Point]] = []
    starts = sorted(following, key=lambda cell: (len(following[cell]) != 1, cell))
    for start in starts:
        line, here = [start], start
        while following[here]:
            there = following[here].pop()
            following[there].remove(here)
            line.append(there)
            here = there
        if len(line) > 3:
            lines.append(line)
    return lines


def thinned(line: Sequence[Point], *, apart: float) -> list[Point]:
    """A line with points about `apart` from one another. Its ends stay where they are."""
    points = [line[0]]
    for point in line[1:-1]:
        if math.dist(point, points[-1]) >= apart:
            points.append(point)
    if math.dist(line[-1], points[-1]) < apart / 2 and len(points) > 1:
        points.pop()
    return [*points, line[-1]]
