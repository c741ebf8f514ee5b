"""Water: lines of a calm sea, a swell, a shore, a harbour at night."""

import math

from orders.shop.posters.lines import noise, smooth
from orders.shop.posters.sheet import HEIGHT, WIDTH, Sheet, lightness, mix


def lines(sheet: Sheet) -> None:
    """Forty-one lines across the sheet, through which two slow disturbances pass; one line is the accent."""
    chance, palette = sheet.chance, sheet.palette
    centre, other = chance.between(0.34, 0.46), chance.between(0.66, 0.8)
    phase, special = chance.between(0, math.tau), chance.whole(22, 30)
    for index in range(41):
        share = index / 40
        near = math.exp(-(((share - centre) / 0.14) ** 2)) + 0.75 * math.exp(-(((share - other) / 0.12) ** 2))
        points = []
        for step in range(8):
            x = 60 + step * 480 / 7
            swell = math.sin(math.pi * step / 7) ** 1.3
            lift = math.sin(x / 92 + phase + share * 6.5) + 0.45 * math.sin(x / 58 - share * 11)
            points.append((x, 104 + 600 * share**1.1 - 46 * near * swell * lift))
        colour = palette.accent if index == special else mix(palette.soft, palette.ink, share * 1.25)
        sheet.line(smooth(points), colour, 4 if index == special else 1.2 + 2.2 * share)


def swell(sheet: Sheet) -> None:
    """Seven crests, each darker than the one behind it, with foam on their backs and a pale disc over them."""
    chance, palette = sheet.chance, sheet.palette
    sky = sheet.fade((0, mix(palette.ground, palette.soft, 0.75), 1), (1, palette.ground, 1))
    sheet.rect(0, 0, WIDTH, 430, fill=sky)
    sheet.circle(chance.between(390, 460), chance.between(150, 190), 46, fill=palette.accent)
    for index in range(7):
        share = index / 6
        level = 310 + 400 * share**1.25
        length, high = 190 + 170 * share, 17 + 36 * share
        crest = _crest(level, length, high, chance.between(0, math.tau))
        top = (
            mix(palette.soft, palette.mid, share * 1.5)
            if share < 0.66
            else mix(palette.mid, palette.ink, 0.5)
        )
        fill = sheet.fade((0, top, 1), (1, mix(palette.mid, palette.ink, 0.25 + 0.75 * share), 1))
        below = smooth(crest, ends=f"V{HEIGHT + 20}H-199z")
        foam = mix(palette.ground, palette.mid, 0.25)
        sheet.path(below, fill=fill, stroke=foam, stroke_width=1.5 + 2.5 * share)
        if index > 2:
            dashes = f"{chance.whole(30, 110)} {chance.whole(50, 140)}"
            back = smooth([(x, y + 12 + 16 * share) for x, y in crest])
            sheet.line(back, palette.ground, 1 + share, opacity=0.3, stroke_dasharray=dashes)


def _crest(level: float, length: float, high: float, phase: float) -> list[tuple[float, float]]:
    """A wave that is steep at its tops and flat in its valleys, as water is: points wander to the tops."""
    points, step = [], length / 6
    for index in range(-8, round(WIDTH / step) + 9):
        turn = math.tau * index / 6 + phase
        x = index * step - length * 0.115 * math.sin(turn)
        if -2 * step < x < WIDTH + 2 * step:
            points.append((x, level - high * math.cos(turn)))
    return points


def shore(sheet: Sheet) -> None:
    """Bands of wet sand and of thin water, seen from above, with the edges that each wave left."""
    chance, palette = sheet.chance, sheet.palette
    rough = noise(chance, cells=4)
    lean, bands = chance.between(150, 260), 10
    tones = (palette.ground, palette.soft, palette.mid, palette.ink)
    for index in range(bands):
        share = index / (bands - 1)
        edge = []
        for step in range(12):
            y = -60 + step * 84
            drift = lean * (0.5 - y / HEIGHT) + 150 * (rough(step / 12, share) - 0.5)
            edge.append((70 + 560 * share**0.94 + drift, y))
        at = share * 2.6
        tone = mix(tones[int(at)], tones[int(at) + 1], at % 1)
        if index == bands - 1:
            tone = palette.accent
        curve = smooth(edge)
        fill = sheet.fade((0, tone, 1), (1, mix(tone, palette.soft, 0.3), 1)) if index % 3 == 1 else tone
        foam = mix(palette.ground, tone, 0.12)
        sheet.path(f"{curve}H720V-60z", fill=fill, stroke=foam, stroke_width=1.2 + 2.4 * (1 - share))


def harbour(sheet: Sheet) -> None:
    """Lamps on a quay, and what the water makes of them."""
    chance, palette = sheet.chance, sheet.palette
    night = mix(palette.ground, "#000000", 0.35) if lightness(palette.ground) < 0.5 else palette.soft
    quay = 292.0
    sheet.rect(
        0, 0, WIDTH, quay, fill=sheet.fade((0, night, 1), (1, mix(palette.ground, palette.mid, 0.55), 1))
    )
    _houses(sheet, quay)
    ripples = []
    for _ in range(44):
        y = quay + 18 + 470 * chance.between(0, 1) ** 1.2
        ripples.append(f"M{chance.whole(0, 590)} {y:.0f}h{chance.whole(14, 30 + int(y / 9))}")
    sheet.line("".join(ripples), palette.mid, 2, stroke_linecap="round", opacity=0.42)
    lamps = 5
    special = chance.whole(1, 3)
    for index in range(lamps):
        x = 70 + index * 115 + chance.between(-22, 22)
        colour = palette.accent if index == special else palette.ink
        glow = sheet.fade((0, colour, 0.55), (1, colour, 0), glow=True)
        sheet.circle(x, quay - 34, 58, fill=glow)
        sheet.line(f"M{x:.0f} {quay:.0f}v-34", night, 4)
        sheet.circle(x, quay - 36, 8, fill=mix(colour, "#ffffff", 0.35))
        _reflection(sheet, x, quay, colour)


def _houses(sheet: Sheet, quay: float) -> None:
    chance, palette = sheet.chance, sheet.palette
    x, walls = -10, ""
    while x < WIDTH:
        width, height = chance.whole(36, 84), chance.whole(40, 128)
        roof = "" if chance.happens(0.4) else f"l{width / 2:.0f}-{chance.whole(14, 34)}"
        walls += f"M{x} {quay:.0f}v-{height}{roof}L{x + width} {quay - height:.0f}V{quay:.0f}z"
        x += width + (chance.whole(0, 16) if chance.happens(0.3) else 0)
    sheet.path(walls, fill=mix(palette.ground, "#000000", 0.25), opacity=0.92)
    sheet.rect(0, quay, WIDTH, 7, fill=mix(palette.ground, palette.mid, 0.35))


def _reflection(sheet: Sheet, x: float, quay: float, colour: str) -> None:
    chance = sheet.chance
    strokes, y = "", quay + 22
    reach = chance.between(0.75, 1.0)
    while y < quay + 470 * reach:
        share = (y - quay) / 470
        half = (7 + 26 * math.sin(math.pi * min(1, share * 1.1)) * chance.between(0.45, 1)) * (
            1 - share * 0.25
        )
        strokes += f"M{x - half + chance.between(-9, 9) * (0.3 + share):.0f} {y:.0f}h{2 * half:.0f}"
        y += 12.5 + 11.5 * share
    fade = sheet.fade((0, colour, 0.95), (1, colour, 0.12))
    # A gradient on strokes runs over the box of the whole path, so one stroke fades from the quay to the viewer.
    sheet.line(strokes, fade, 5, stroke_linecap="round")


FORMS = {"lines": lines, "swell": swell, "shore": shore, "harbour": harbour}
