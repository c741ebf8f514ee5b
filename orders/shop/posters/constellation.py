"""Skies: a winter atlas, a figure in the stars, fires on ridges, the trails of stars at noon."""

import math
from collections.abc import Callable
from itertools import pairwise

from orders.shop.posters.lines import around, polygon, ridge, smooth
from orders.shop.posters.sheet import HEIGHT, WIDTH, Point, Sheet, lightness, mix

Inside = Callable[[float, float], bool]

HERON: tuple[Point, ...] = (
    (128, 196), (206, 172), (246, 192), (238, 246), (214, 298), (226, 352),
    (246, 414), (308, 462), (392, 480), (492, 520), (420, 424), (318, 366),
    (322, 568), (306, 682), (264, 694), (344, 692), (366, 566), (396, 640),
)  # fmt: skip
BONES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 5),
         (7, 12), (12, 13), (13, 14), (13, 15), (8, 16), (16, 17))  # fmt: skip
BODY = (5, 6, 7, 8, 9, 10, 11)


def atlas(sheet: Sheet) -> None:
    """The round chart of a sky, with hours, circles and the figures that children drew into it."""
    chance, palette = sheet.chance, sheet.palette
    x, y, radius = 300, 372, 246
    near, far = mix(palette.ground, palette.mid, 0.5), mix(palette.ground, palette.mid, 0.12)
    sheet.circle(x, y, radius, fill=sheet.fade((0, near, 1), (1, far, 1), glow=True))
    turns = [math.tau * hour / 12 for hour in range(12)]
    hours = "".join(f"M{around(x, y, 40, turn)}L{around(x, y, radius, turn)}" for turn in turns)
    sheet.line(hours, palette.mid, 1, opacity=0.6)
    for share in (0.165, 0.44, 0.72):
        sheet.ring(x, y, radius * share, palette.mid, 1, opacity=0.7)
    sheet.ring(x + 34, y - 22, radius * 0.74, palette.accent, 1.2, stroke_dasharray="3 7")
    sheet.ring(x, y, radius, palette.ink, 2)
    tick = math.tau * (radius + 12) / 120 - 1.4
    sheet.ring(x, y, radius + 12, palette.soft, 8, stroke_dasharray=f"1.4 {tick:.2f}")
    _dust(sheet, 90, lambda a, b: math.dist((a, b), (x, y)) < radius - 8)
    for number in range(7):
        turn = math.tau * (number + 0.5) / 7 + chance.between(-0.2, 0.2)
        away = chance.between(0.42, 0.72) * radius
        _figure(sheet, x + away * math.cos(turn), y + away * math.sin(turn))
    _village(sheet)


def _figure(sheet: Sheet, x: float, y: float) -> None:
    """Four to six stars that somebody has joined."""
    chance, palette = sheet.chance, sheet.palette
    count, turn = chance.whole(4, 6), chance.between(0, math.tau)
    points = []
    for _ in range(count):
        points.append((x, y))
        turn += chance.between(-1.3, 1.3)
        step = chance.between(24, 46)
        x, y = x + step * math.cos(turn), y + step * math.sin(turn)
        if math.dist((x, y), (300, 372)) > 222:
            turn += math.pi / 1.6
            x, y = points[-1][0] + step * math.cos(turn), points[-1][1] + step * math.sin(turn)
    if math.dist(points[-1], (300, 372)) > 236:
        points.pop()
    sheet.line("M" + "L".join(f"{a:.0f} {b:.0f}" for a, b in points), palette.soft, 1.4, opacity=0.85)
    for index, (a, b) in enumerate(points):
        sheet.circle(
            a,
            b,
            4.6 if index == 1 else chance.between(2.2, 3.4),
            fill=palette.accent if index == 1 else palette.ink,
        )


def _village(sheet: Sheet) -> None:
    chance, palette = sheet.chance, sheet.palette
    snow = ridge(chance, level=716, rise=12, step=110, rough=0.3)
    roofs, windows, x = "", "", 150
    while x < 450:
        width, tall = chance.whole(26, 40), chance.whole(18, 30)
        roofs += f"M{x} 726v-{tall}l{width / 2:.0f}-16 {width / 2:.0f} 16v{tall}z"
        windows += f"M{x + width // 2 - 3} {726 - tall + 4}h7v9h-7z"
        x += width + chance.whole(2, 26)
    sheet.path(roofs, fill=mix(palette.ground, palette.mid, 0.6))
    sheet.path(windows, fill=palette.accent)
    sheet.path(smooth(snow, ends=f"V{HEIGHT}H-30z"), fill=palette.ink)


def _dust(sheet: Sheet, count: int, inside: Inside) -> None:
    """Far stars: dots of two sizes, each size one path."""
    chance, palette = sheet.chance, sheet.palette
    small, large = "", ""
    for _ in range(count):
        x, y = chance.whole(24, WIDTH - 24), chance.whole(24, HEIGHT - 24)
        if not inside(x, y):
            continue
        if chance.happens(0.75):
            small += f"M{x} {y}h0"
        else:
            large += f"M{x} {y}h0"
    sheet.line(small, palette.soft, 2.2, stroke_linecap="round", opacity=0.8)
    sheet.line(large, palette.ink, 3.6, stroke_linecap="round", opacity=0.8)


def figure(sheet: Sheet) -> None:
    """A wading bird in the stars, for whoever looks long enough."""
    chance, palette = sheet.chance, sheet.palette
    night = sheet.fade(
        (0, mix(palette.ground, "#000000", 0.3), 1),
        (0.7, palette.ground, 1),
        (1, mix(palette.ground, palette.mid, 0.5), 1),
    )
    sheet.rect(0, 0, WIDTH, HEIGHT, fill=night)
    sheet.circle(300, 420, 300, fill=sheet.fade((0, palette.mid, 0.42), (1, palette.mid, 0), glow=True))
    _dust(sheet, 130, lambda x, y: y < 730)
    turned = chance.happens(0.3)
    points = [
        ((600 - x if turned else x) + chance.between(-7, 7), y + chance.between(-7, 7)) for x, y in HERON
    ]
    body = [points[at] for at in BODY]
    sheet.path(polygon(body), fill=palette.mid, opacity=0.22)
    bones = "".join(
        f"M{points[a][0]:.0f} {points[a][1]:.0f}L{points[b][0]:.0f} {points[b][1]:.0f}" for a, b in BONES
    )
    sheet.line(bones, palette.soft, 1.6, opacity=0.9)
    for index, (x, y) in enumerate(points):
        if index in (1, 7, 10):
            colour = palette.accent if index == 1 else palette.ink
            sheet.circle(x, y, 22, fill=sheet.fade((0, colour, 0.7), (1, colour, 0), glow=True))
            _spark(sheet, x, y, 15, colour)
        else:
            sheet.circle(x, y, chance.between(3, 5), fill=palette.ink)
    sheet.line("M0 742H600", palette.soft, 1, opacity=0.5)
    sheet.line(
        "".join(f"M{chance.whole(30, 520)} {752 + at * 7}h{chance.whole(30, 120)}" for at in range(6)),
        palette.soft,
        1.4,
        opacity=0.4,
    )


def _spark(sheet: Sheet, x: float, y: float, size: float, colour: str) -> None:
    """A star with four rays."""
    waist = size / 6
    arms = [
        (x + (size if step % 2 == 0 else waist) * math.cos(math.tau * step / 8),
         y + (size if step % 2 == 0 else waist) * math.sin(math.tau * step / 8))
        for step in range(8)
    ]  # fmt: skip
    sheet.path(polygon(arms), fill=colour)


def fires(sheet: Sheet) -> None:
    """Ridges behind ridges, a fire on each, and the news on its way between them."""
    palette = sheet.palette
    night, dusk = mix(palette.ground, "#000000", 0.3), mix(palette.ground, palette.mid, 0.55)
    sheet.rect(0, 0, WIDTH, HEIGHT, fill=sheet.fade((0, night, 1), (0.45, dusk, 1), (0.6, palette.soft, 1)))
    _dust(sheet, 70, lambda x, y: y < 300)
    peaks = _ridges(sheet)
    news = "".join(
        f"M{x:.0f} {y - 8:.0f}Q{(x + to_x) / 2:.0f} {min(y, to_y) - 70:.0f} {to_x:.0f} {to_y - 8:.0f}"
        for (x, y), (to_x, to_y) in pairwise(peaks)
    )
    sheet.line(news, palette.ink, 1.8, stroke_dasharray="1 8", stroke_linecap="round")
    for index, (x, y) in enumerate(peaks):
        size = 5 + index * 1.7
        stops = ((0.0, palette.ink, 0.75), (0.4, palette.soft, 0.3), (1.0, palette.soft, 0.0))
        sheet.circle(x, y - size, size * 6, fill=sheet.fade(*stops, glow=True))
        sheet.path(_flame(x, y, size), fill=palette.ink)


def _ridges(sheet: Sheet) -> list[Point]:
    """Six ridges from far to near; returns a summit of each, apart from that of the ridge behind it."""
    chance, palette = sheet.chance, sheet.palette
    peaks: list[Point] = []
    for index in range(6):
        share = index / 5
        skyline = ridge(chance, level=372 + 330 * share, rise=58 + 26 * share, step=44, rough=1.5)
        jagged = [(x, y + chance.between(-7, 7)) for x, y in skyline]
        inner = [(x, y) for x, y in jagged if 70 < x < 530 and not (peaks and abs(x - peaks[-1][0]) < 70)]
        peaks.append(min(inner, key=lambda point: point[1]))
        tone = mix(mix(palette.mid, palette.accent, 0.35), palette.ground, 0.18 + 0.82 * share)
        sheet.path(polygon([*jagged, (640, HEIGHT), (-30, HEIGHT)]), fill=tone)
    return peaks


def _flame(x: float, y: float, size: float) -> str:
    tip, wide, tall = y - size * 2.6, size * 1.5, size * 2.8
    return (
        f"M{x:.0f} {tip:.0f}c{wide:.0f} {wide:.0f} {size:.0f} {size * 2.6:.0f} 0 {tall:.0f}"
        f"c-{size:.0f} 0-{wide:.0f}-{size * 1.3:.0f} 0-{tall:.0f}z"
    )


def trails(sheet: Sheet) -> None:
    """The stars of one day, drawn as they turn round the pole; a small sun is in their way."""
    chance, palette = sheet.chance, sheet.palette
    x, y = 300 + chance.between(-40, 40), 330 + chance.between(-30, 30)
    arcs: dict[int, str] = {0: "", 1: "", 2: ""}
    for ring in range(46):
        radius = 16 + ring * 10.2
        start, long = chance.between(0, math.tau), chance.between(0.5, 1.9)
        for turn in (start, start + math.pi * chance.between(0.85, 1.15)):
            arc = f"A{radius:.0f} {radius:.0f} 0 0 1 {around(x, y, radius, turn + long)}"
            arcs[chance.whole(0, 2)] += f"M{around(x, y, radius, turn)}{arc}"
    for index, path in arcs.items():
        colour, width = ((palette.ink, 2.2), (palette.mid, 3), (palette.soft, 4))[index]
        sheet.line(path, colour, width, stroke_linecap="round")
    sheet.circle(x, y, 5, fill=palette.ink)
    turn, far = chance.between(0.3, 1.2), chance.between(180, 230)
    sun_x, sun_y = x + far * math.cos(turn), y + far * math.sin(turn)
    sheet.circle(sun_x, sun_y, 62, fill=palette.ground)
    sheet.circle(sun_x, sun_y, 46, fill=palette.accent)
    hill = ridge(chance, level=706, rise=26, step=110, rough=0.3)
    dark = palette.ink if lightness(palette.ground) > 0.5 else mix(palette.ground, "#000000", 0.4)
    sheet.path(smooth(hill, ends=f"V{HEIGHT}H-30z"), fill=dark)


FORMS = {"atlas": atlas, "figure": figure, "fires": fires, "trails": trails}
