"""Sun over land: nested discs, a salt plain, hills, a polar noon."""

import math
from itertools import pairwise

from orders.shop.posters.lines import polygon, ridge, smooth
from orders.shop.posters.sheet import HEIGHT, WIDTH, Point, Sheet, mix


def discs(sheet: Sheet) -> None:
    """Seven discs that rise out of one another, each standing on the same horizon."""
    chance, palette = sheet.chance, sheet.palette
    horizon, centre = chance.between(596, 624), 300 + chance.between(-14, 14)
    tones = (mix(palette.ground, palette.soft, 0.55), palette.soft, palette.mid, palette.ink)
    sheet.group(clip_path=sheet.clip(f"M0 0H{WIDTH}V{horizon:.0f}H0z"))
    for index in range(7):
        share = index / 6
        radius = 262 - 214 * share**0.92
        at = min(2.999, share * 3)
        tone = mix(tones[int(at)], tones[int(at) + 1], at % 1)
        sheet.circle(centre, horizon - radius + 96 - 74 * share, radius, fill=tone)
    sheet.end()
    sheet.rect(0, horizon, WIDTH, HEIGHT - horizon, fill=palette.accent)
    for index in range(6):
        width = 330 - index * 48
        sheet.rect(
            centre - width / 2 + chance.between(-16, 16),
            horizon + 20 + index * index * 3.4 + index * 8,
            width,
            2 + index * 0.9,
            fill=mix(palette.soft, palette.ink, index / 5),
            rx=2,
        )


def plain(sheet: Sheet) -> None:
    """A disc over a white plain, cut by layers of heat; the plain breaks into plates of salt."""
    chance, palette = sheet.chance, sheet.palette
    horizon, centre, radius = 520.0, 300 + chance.between(-40, 40), 186.0
    sky = sheet.fade((0, palette.ground, 1), (1, mix(palette.ground, palette.soft, 0.85), 1))
    sheet.rect(0, 0, WIDTH, horizon, fill=sky)
    cuts, y, gap = "", 330.0, 3.0
    top = 0.0
    while y < horizon:
        cuts += f"M0 {top:.0f}H600V{y:.0f}H0z"
        top, gap = y + gap, gap + 2.3
        y = top + max(5.0, 34 - 2.2 * gap)
    fill = sheet.fade((0, palette.ink, 1), (1, palette.mid, 1))
    sheet.circle(centre, 352, radius, fill=fill, clip_path=sheet.clip(cuts))
    sheet.rect(0, horizon, WIDTH, HEIGHT - horizon, fill=mix(palette.ground, "#ffffff", 0.5))
    sheet.line(_plates(sheet, horizon), mix(palette.soft, palette.mid, 0.3), 1.3, stroke_linejoin="round")
    sheet.path(_far_range(sheet, horizon), fill=palette.accent)


def _plates(sheet: Sheet, horizon: float) -> str:
    """Hexagons that lie on the ground, drawn in perspective: three sides of each, as the others are its neighbours'."""
    chance, drawn = sheet.chance, ""
    jitter = [[(chance.between(-0.1, 0.1), chance.between(-0.1, 0.1)) for _ in range(31)] for _ in range(25)]

    def place(column: int, row: int) -> str:
        """Corner of the honeycomb, laid out as a brick wall, on the sheet."""
        move_x, move_y = jitter[row % 25][column % 31]
        depth = 1.05 + (row + move_y + (0.17 if (column + row) % 2 else -0.17)) * 0.47
        x = 300 + (column - 15 + move_x) * 0.5 * 330 / depth / 1.15
        return f"{x:.0f} {horizon + 300 / depth:.0f}"

    for row in range(11):
        drawn += "M" + "L".join(place(column, row) for column in range(max(0, 9 - row), min(31, 23 + row)))
        for column in range(max(0, 9 - row), min(31, 23 + row)):
            if (column + row) % 2 and row < 10:
                drawn += f"M{place(column, row)}L{place(column, row + 1)}"
    return drawn


def _far_range(sheet: Sheet, horizon: float) -> str:
    points = ridge(sheet.chance, level=horizon - 9, rise=11, step=50, rough=2)
    return polygon([*points, (640, horizon + 3), (-30, horizon + 3)])


def hills(sheet: Sheet) -> None:
    """Hills in the last light, every other one ploughed."""
    chance, palette = sheet.chance, sheet.palette
    sky = sheet.fade(
        (0, mix(palette.ground, palette.soft, 0.2), 1), (1, mix(palette.soft, palette.ground, 0.25), 1)
    )
    sheet.rect(0, 0, WIDTH, 520, fill=sky)
    sun_x = chance.between(180, 420)
    sheet.circle(sun_x, 330, 150, fill=palette.soft, opacity=0.55)
    sheet.circle(sun_x, 330, 104, fill=palette.accent)
    layers = 6
    for index in range(layers):
        share = index / (layers - 1)
        top = ridge(chance, level=372 + 300 * share, rise=34 + 26 * share, step=115, rough=0.4)
        tone = (
            mix(palette.soft, palette.mid, share * 2)
            if share < 0.5
            else mix(palette.mid, palette.ink, share * 2 - 1)
        )
        fill = sheet.fade((0, mix(tone, palette.ground, 0.12), 1), (1, mix(tone, palette.ink, 0.16), 1))
        sheet.path(smooth(top, ends=f"V{HEIGHT}H-30z"), fill=fill)
        if index % 2:
            _furrows(sheet, top, mix(tone, palette.ground, 0.42), 10 + 5 * share)
    _tree_line(sheet, palette.ink)


def _furrows(sheet: Sheet, top: list[tuple[float, float]], colour: str, apart: float) -> None:
    rows = ""
    for row in range(1, 8):
        rows += smooth([(x, y + row * apart * (0.62 + 0.5 * x / WIDTH)) for x, y in top])
    sheet.line(rows, colour, 1.6, opacity=0.55)


def _tree_line(sheet: Sheet, colour: str) -> None:
    chance, x = sheet.chance, sheet.chance.between(60, 380)
    for index in range(3):
        at, tall = x + index * chance.between(22, 34), chance.between(92, 128)
        base = 742 + chance.between(-8, 8)
        sheet.path(
            f"M{at:.0f} {base:.0f}c-19-26-15-{tall * 0.8:.0f} 0-{tall:.0f}"
            f"c15 {tall * 0.2:.0f} 19 {tall - 26:.0f} 0 {tall:.0f}v12",
            fill=colour,
            stroke=colour,
            stroke_width=2,
        )


def polar(sheet: Sheet) -> None:
    """Eleven blues from sky to sea, and the low road that the sun takes between them."""
    palette = sheet.palette
    high, horizon = mix(palette.soft, palette.mid, 0.45), 392.0
    for index in range(5):
        sheet.rect(0, index * 80, WIDTH, 81, fill=mix(high, palette.ground, index / 4))
    for index in range(9):
        turn = (index - 4) / 4
        x, y = 300 + turn * 236, 318 + 52 * turn * turn
        if index == 4:
            sheet.circle(
                x, y, 92, fill=sheet.fade((0, palette.accent, 0.5), (1, palette.accent, 0), glow=True)
            )
            sheet.circle(x, y, 37, fill=palette.accent)
        else:
            sheet.ring(x, y, 30, palette.accent, 2, opacity=0.85 - 0.13 * abs(index - 4))
    for index in range(6):
        _floe(sheet, horizon + 8, index / 5)
    sheet.rect(0, horizon - 2, WIDTH, 2, fill=palette.ink, opacity=0.5)


def _floe(sheet: Sheet, horizon: float, share: float) -> None:
    """A sheet of ice with broken edges; `share` is how near it is."""
    chance, palette = sheet.chance, sheet.palette
    points: list[Point] = []
    x, level = -20.0, horizon + 330 * share**1.35
    while x < 620:
        points.append((x, level + chance.between(-1, 1) * (9 + 30 * share)))
        x += chance.between(46, 120) * (0.7 + share)
    far, near = mix(palette.soft, palette.mid, share * 1.8), mix(palette.mid, palette.ink, share * 1.8 - 0.9)
    tone = far if share < 0.55 else near
    sheet.path(polygon([*points, (640, points[-1][1]), (640, HEIGHT), (-20, HEIGHT)]), fill=tone)
    sheet.path(_snow(points, 6 + 16 * share), fill=mix(tone, "#ffffff", 0.34))


def _snow(points: list[tuple[float, float]], thick: float) -> str:
    """A light upper side on every other slope."""
    slopes = ""
    for (x, y), (to_x, to_y) in pairwise(points):
        if to_y < y:
            slopes += polygon(
                [(x, y), (to_x, to_y), (to_x - (to_x - x) * 0.2, to_y + thick + math.fabs(y - to_y))]
            )
    return slopes


FORMS = {"discs": discs, "plain": plain, "hills": hills, "polar": polar}
