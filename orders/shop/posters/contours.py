"""Height: a mapped summit, an island with its depths, wind on sand, the rings of a tree."""

import math
from collections.abc import Sequence

from orders.shop.posters.lines import Height, Heights, contours, noise, polygon, sampled, smooth, thinned
from orders.shop.posters.sheet import WIDTH, Chance, Point, Sheet, mix

COLUMNS, ROWS = 30, 40


def topo(sheet: Sheet) -> None:
    """The contour lines of a mountain; every fourth is heavier, and a small triangle marks the top."""
    chance, palette = sheet.chance, sheet.palette
    height, (top_x, top_y) = _mountain(chance)
    land = sampled(height, columns=COLUMNS, rows=ROWS)
    levels = 15
    for index in range(levels):
        path = _mapped(land, 0.16 + 0.8 * index / levels)
        colour = mix(palette.mid, palette.ink, index / levels)
        fill = {levels - 4: mix(palette.ground, palette.soft, 0.5), levels - 2: palette.accent}.get(
            index, "none"
        )
        sheet.path(path, fill=fill, stroke=colour, stroke_width=2.8 if index % 4 == 3 else 1.3)
    x, y = 48 + top_x * 504, 48 + top_y * 704
    sheet.path(f"M{x:.0f} {y - 9:.0f}l9 15h-18z", fill=palette.ground)


def _mountain(chance: Chance) -> tuple[Height, tuple[float, float]]:
    peak = chance.between(0.36, 0.64), chance.between(0.3, 0.48)
    other = peak[0] + chance.between(-0.3, 0.3), chance.between(0.72, 0.84)
    rough = noise(chance, cells=5)

    def height(x: float, y: float) -> float:
        first = math.exp(-(((x - peak[0]) / 0.36) ** 2) - ((y - peak[1]) / 0.3) ** 2)
        second = 0.55 * math.exp(-(((x - other[0]) / 0.22) ** 2) - ((y - other[1]) / 0.16) ** 2)
        near = math.dist((x, y), peak)
        return first + second + (rough(x, y) - 0.5) * 0.42 * min(1, near / 0.3)

    return height, peak


def _mapped(land: Heights, level: float) -> str:
    """The lines of one level on the sheet; those too short to be a place are left out."""
    path = ""
    for line in contours(land, level):
        if len(line) < 12:
            continue
        closed = line[0] == line[-1]
        points = [(48 + x / COLUMNS * 504, 48 + y / ROWS * 704) for x, y in thinned(line, apart=2.4)]
        path += smooth(points[:-1] if closed else points, closed=closed)
    return path


def island(sheet: Sheet) -> None:
    """An island in bands of height, the sea round it in lines of depth, and a cross where nobody found it."""
    chance, palette = sheet.chance, sheet.palette
    x, y = 300 + chance.between(-30, 30), 390 + chance.between(-20, 20)
    lean_x, lean_y = chance.between(-50, 50), chance.between(-60, 60)
    shape = [(chance.between(0.6, 1.3) / lobes, lobes, chance.between(0, math.tau)) for lobes in (2, 3, 5)]
    for index in range(6):
        path = _loop((x, y), 312 - index * 28, shape, bulge=0.22 + 0.02 * index, points=14)
        tone = mix(palette.ground, palette.soft, 0.16 + 0.16 * index)
        dashes = "1 6" if index % 2 else "none"
        edge = mix(tone, palette.mid, 0.6)
        sheet.path(path, fill=tone, stroke=edge, stroke_width=1.2, stroke_dasharray=dashes)
    for index in range(7):
        share = index / 6
        middle = x + lean_x * share, y + lean_y * share
        path = _loop(middle, 154 - index * 21, shape, bulge=0.34 - 0.03 * index, points=14)
        tone = mix(mix(palette.ground, "#ffffff", 0.6), palette.accent, share * 0.95)
        sheet.path(path, fill=tone, stroke=palette.ink, stroke_width=2.6 if index == 0 else 1)
    _compass(sheet, palette.ink, palette.accent)


def _compass(sheet: Sheet, colour: str, accent: str) -> None:
    chance = sheet.chance
    x, y = chance.whole(380, 440), chance.whole(180, 240)
    sheet.line(f"M{x - 13} {y - 13}l26 26m0-26l-26 26", accent, 6, stroke_linecap="round")
    sheet.line("M40 40h520v720h-520z", colour, 2)
    sheet.line("M48 48h504v704h-504z", colour, 6, stroke_dasharray="36 36")
    sheet.circle(112, 682, 30, fill="none", stroke=colour, stroke_width=1.5)
    sheet.path("M112 640l8 42-8 42-8-42z", fill=colour)
    sheet.path("M112 640l8 42h-16z", fill=accent)


def dunes(sheet: Sheet) -> None:
    """Crests of sand, lit from one side, with what the wind wrote on their flanks."""
    chance, palette = sheet.chance, sheet.palette
    sky = sheet.fade((0, mix(palette.ground, palette.soft, 0.5), 1), (1, palette.ground, 1))
    sheet.rect(0, 0, WIDTH, 420, fill=sky)
    sheet.circle(chance.between(380, 470), 128, 40, fill=palette.accent)
    start = chance.whole(0, 1)
    for index in range(5):
        share = index / 4
        base, rise = 300 + 118 * index, 62 + 40 * share
        peak = (chance.between(360, 430) if (index + start) % 2 else chance.between(130, 210), base - rise)
        back = [(-50.0, base + chance.between(0, 40)), (peak[0] * 0.5, base - rise * 0.5), peak]
        fore = [(peak[0] + (650 - peak[0]) * 0.55, base - rise * 0.28), (660.0, base + chance.between(0, 40))]
        tone = mix(palette.soft, palette.mid, share)
        light = sheet.fade((0, mix(tone, palette.ground, 0.45), 1), (0.6, tone, 1))
        sheet.path(smooth([*back, *fore], ends="V800H-50z"), fill=light)
        _wind(sheet, back, mix(tone, palette.ink, 0.4), apart=9 + 6 * share)
        sway = chance.between(20, 46)
        foot = [peak, (peak[0] - sway, base + 20), (peak[0] + sway, base + 120), (peak[0] + 10, base + 260)]
        lee = f"{smooth(foot)}H700V{fore[1][1]:.0f}L{fore[1][0]:.0f} {fore[1][1]:.0f}"
        far = peak[0] + (fore[0][0] - peak[0]) * 0.6, peak[1] + (fore[0][1] - peak[1]) * 0.3
        bent = f"C{fore[0][0] + 80:.0f} {fore[0][1] + 20:.0f} {far[0]:.0f} {far[1]:.0f} {peak[0]:.0f} {peak[1]:.0f}z"
        sheet.path(lee + bent, fill=mix(tone, palette.ink, 0.5 + 0.3 * share))


def _wind(sheet: Sheet, back: Sequence[Point], colour: str, *, apart: float) -> None:
    """Ripples under a crest, on its bright side."""
    (x, y), (mid_x, mid_y), (to_x, to_y) = back
    ripples = ""
    for row in range(1, 8):
        low = row * apart
        stop = 0.82 - 0.07 * row
        points = [
            (x, y + low),
            (mid_x * stop, mid_y + low + 5 * math.sin(row)),
            (mid_x * 0.5 + to_x * 0.4 * stop, mid_y * 0.55 + to_y * 0.45 + low * 1.1),
            (to_x * stop, to_y + low * 1.5),
        ]
        ripples += smooth(sorted(points))
    sheet.line(ripples, colour, 1.2, opacity=0.5)


def rings(sheet: Sheet) -> None:
    """The section of a trunk: thick rings for good years, close ones for dry years, and one dry crack."""
    chance, palette = sheet.chance, sheet.palette
    centre = 300 + chance.between(-36, 36), 410 + chance.between(-44, 30)
    shape = [(chance.between(0.5, 1) / lobes, lobes, chance.between(0, math.tau)) for lobes in (2, 3, 4)]
    sheet.path(_loop(centre, 262, shape, bulge=0.1), fill=palette.ink)
    sheet.path(_loop(centre, 248, shape, bulge=0.1), fill=mix(palette.ground, palette.mid, 0.32))
    years, radius, dry = [], 9.0, chance.between(0, math.tau)
    while radius < 246:
        years.append(_loop(centre, radius, shape, bulge=0.035 + 0.065 * radius / 250))
        radius += 8.4 + 5 * math.sin(radius / 17 + dry) + chance.between(-1, 3)
    for path in years[::-6]:
        sheet.path(path, fill=mix(palette.soft, palette.ground, chance.between(0.2, 0.75)))
    for kind, width in enumerate((1.2, 2.2, 3.4)):
        sheet.line("".join(years[kind::3]), mix(palette.mid, palette.ink, (0.7, 0.2, 0.45)[kind]), width)
    sheet.circle(centre[0], centre[1], 4, fill=palette.accent)
    _crack(sheet, centre)


def _loop(
    centre: Point, radius: float, shape: Sequence[tuple[float, int, float]], *, bulge: float, points: int = 10
) -> str:
    """A round that is a little taller than wide and leaves its circle by `bulge` of the radius at most, or so."""
    line = []
    for step in range(points):
        turn = math.tau * step / points
        far = radius * (
            1 + bulge * sum(size * math.sin(lobes * turn + shift) for size, lobes, shift in shape)
        )
        line.append((centre[0] + far * 0.92 * math.cos(turn), centre[1] + far * 1.14 * math.sin(turn)))
    return smooth(line, closed=True)


def _crack(sheet: Sheet, centre: Point) -> None:
    turn = sheet.chance.between(0.2, 1.2)
    points = [(centre[0] + 20 * math.cos(turn), centre[1] + 24 * math.sin(turn))]
    for side in (-0.055, 0.055):
        points.append((centre[0] + 330 * math.cos(turn + side), centre[1] + 400 * math.sin(turn + side)))
    sheet.path(polygon(points), fill=sheet.palette.ground)
    sheet.circle(96, 704, 22, fill=sheet.palette.accent)


FORMS = {"topo": topo, "island": island, "dunes": dunes, "rings": rings}
