"""Plain shapes in good company: three of them, a door, an orchestra, a machine."""

import math

from orders.shop.posters.lines import around, polygon
from orders.shop.posters.sheet import Sheet, mix


def trio(sheet: Sheet) -> None:
    """A circle, a square and a triangle that overlap; where two meet there is a third colour."""
    chance, palette = sheet.chance, sheet.palette
    x, y = 232 + chance.between(-12, 12), 296 + chance.between(-12, 12)
    side, at_x, at_y = 272.0, 248 + chance.between(-8, 24), 344 + chance.between(-10, 14)
    circle = f"M{x - 170:.0f} {y:.0f}a170 170 0 1 0 340 0a170 170 0 1 0-340 0z"
    square = f"M{at_x:.0f} {at_y:.0f}h{side:.0f}v{side:.0f}h-{side:.0f}z"
    triangle = polygon([(96, 716), (270 + chance.between(-10, 10), 398), (446, 716)])
    in_square = sheet.clip(square)
    sheet.path(square, fill=palette.accent)
    sheet.path(triangle, fill=palette.soft)
    sheet.path(triangle, fill=palette.ground, clip_path=in_square)
    sheet.path(circle, fill=palette.mid)
    sheet.path(triangle, fill=mix(palette.soft, palette.mid, 0.62), clip_path=sheet.clip(circle))
    sheet.path(circle, fill=palette.ink, clip_path=in_square)
    sheet.line("M60 84h480", palette.ink, 8)
    sheet.line("M452 84v170M476 84v120M500 84v70", palette.ink, 8)


def door(sheet: Sheet) -> None:
    """A door of planks and panels, with hinges that are half discs and a handle that is a whole one."""
    chance, palette = sheet.chance, sheet.palette
    sheet.rect(96, 72, 408, 728, fill=palette.ink)
    left, right = 116, 484
    split = chance.whole(276, 320)
    sheet.rect(left, 92, split - left, 300, fill=palette.mid)
    sheet.rect(split, 92, right - split, 180, fill=palette.soft)
    sheet.rect(split, 272, right - split, 120, fill=palette.accent)
    sheet.path(
        f"M{left} 392V{392 - (split - left)}A{split - left} {split - left} 0 0 1 {split} 392z",
        fill=palette.accent,
    )
    sheet.path(
        f"M{split} 92h{right - split}v{right - split}A{right - split} {right - split} 0 0 1 {split} 92z",
        fill=palette.ground,
        opacity=0.9,
    )
    sheet.rect(left, 412, 368, 388, fill=palette.soft)
    planks = "".join(f"M{left + at} 412v388" for at in range(46, 368, 46))
    sheet.line(planks, mix(palette.soft, palette.ink, 0.55), 3)
    sheet.path(f"M{left} 800V632L{right} 412V580z", fill=palette.mid)
    for y in (170, 700):
        sheet.path(f"M96 {y - 46}a46 46 0 0 1 0 92z", fill=palette.accent)
        sheet.path(f"M96 {y - 18}a18 18 0 0 1 0 36z", fill=palette.ink)
    x, y = 440, chance.whole(470, 500)
    sheet.circle(x, y, 40, fill=palette.ink)
    sheet.circle(x, y, 25, fill=palette.accent)
    sheet.rect(x - 8, y + 54, 16, 44, fill=palette.ink, rx=8)
    sheet.rect(0, 788, 600, 12, fill=palette.ink)


def quarters(sheet: Sheet) -> None:
    """Quarter circles in a grid, some of them striped; one is four times as large as the others."""
    chance, palette = sheet.chance, sheet.palette
    tones = (palette.ink, palette.mid, palette.soft, palette.accent)
    cell, left, top = 120, 60, 100
    big_column, big_row = chance.whole(0, 2), chance.whole(1, 3)
    for row in range(5):
        for column in range(4):
            if column - big_column in (0, 1) and row - big_row in (0, 1):
                continue
            back = chance.whole(0, 5)
            x, y = left + column * cell, top + row * cell
            if back < 4:
                sheet.rect(x, y, cell, cell, fill=mix(tones[back], palette.ground, 0.62 if back % 2 else 0.3))
            _fan(sheet, x, y, cell, tones[(back + chance.whole(1, 3)) % 4], rings=chance.one_of((1, 1, 3, 4)))
    x, y = left + big_column * cell, top + big_row * cell
    sheet.rect(x, y, cell * 2, cell * 2, fill=palette.soft)
    _fan(sheet, x, y, cell * 2, palette.mid, rings=1)
    _fan(sheet, x, y, cell * 2, palette.ink, rings=6)


def _fan(sheet: Sheet, x: float, y: float, size: float, colour: str, *, rings: int) -> None:
    """A quarter circle from one corner of a cell: one piece, or that many strings."""
    corner = sheet.chance.whole(0, 3)
    right, low = corner in (1, 2), corner in (2, 3)
    from_x, from_y = x + size * right, y + size * low
    step_x, step_y = (-1 if right else 1), (-1 if low else 1)
    sweep = 1 if step_x * step_y > 0 else 0
    if rings == 1:
        sheet.path(
            f"M{from_x:.0f} {from_y:.0f}h{size * step_x:.0f}a{size:.0f} {size:.0f} 0 0 {sweep} "
            f"{-size * step_x:.0f} {size * step_y:.0f}z",
            fill=colour,
        )
        return
    arcs, thick = "", size / rings / 2
    for ring in range(rings):
        radius = size - thick / 2 - ring * size / rings
        arcs += (
            f"M{from_x + radius * step_x:.0f} {from_y:.0f}a{radius:.0f} {radius:.0f} 0 0 {sweep} "
            f"{-radius * step_x:.0f} {radius * step_y:.0f}"
        )
    sheet.line(arcs, colour, thick)


def machine(sheet: Sheet) -> None:
    """Wheels, belts, a piston and a small flag: a device of no known purpose."""
    chance, palette = sheet.chance, sheet.palette
    sheet.rect(72, 560, 456, 150, fill=palette.mid, rx=6)
    sheet.rect(72, 680, 456, 60, fill=palette.ink)
    wheel_x, wheel_y = 222 + chance.between(-16, 16), 352 + chance.between(-16, 16)
    small_x, small_y = 438.0, 484 + chance.between(-14, 14)
    _belt(sheet, (wheel_x, wheel_y, 150), (small_x, small_y, 58))
    _wheel(sheet, wheel_x, wheel_y, 132, chance.whole(7, 10))
    _wheel(sheet, small_x, small_y, 42, 5)
    sheet.line(
        f"M{wheel_x:.0f} {wheel_y:.0f}L{wheel_x + 92:.0f} {wheel_y - 74:.0f}L452 176",
        palette.ink,
        13,
        stroke_linejoin="round",
        stroke_linecap="round",
    )
    sheet.rect(412, 96, 80, 118, fill=palette.accent)
    sheet.rect(398, 80, 108, 22, fill=palette.ink)
    sheet.path("M412 150h80v16h-80zM412 182h80v16h-80z", fill=palette.ground)
    sheet.line("M132 560V196", palette.ink, 6)
    sheet.path("M132 112l78 30-78 30z", fill=palette.soft)
    sheet.line("M132 112v90", palette.ink, 6)
    dials = (150, 246, 342)
    for index, x in enumerate(dials):
        sheet.circle(x, 624, 34, fill=palette.ground)
        turn = chance.between(-2.4, -0.7)
        sheet.line(
            f"M{x} 624l{25 * math.cos(turn):.0f} {25 * math.sin(turn):.0f}",
            palette.soft if index == 1 else palette.ink,
            5,
            stroke_linecap="round",
        )
    sheet.path("M412 592h76v14h-76zM412 618h76v14h-76zM412 644h76v14h-76z", fill=palette.ink)


def _wheel(sheet: Sheet, x: float, y: float, radius: float, spokes: int) -> None:
    palette = sheet.palette
    sheet.circle(x, y, radius, fill=palette.ground, stroke=palette.ink, stroke_width=radius / 6)
    start = sheet.chance.between(0, 1)
    lines = ""
    for spoke in range(spokes):
        turn = start + math.tau * spoke / spokes
        lines += f"M{x:.0f} {y:.0f}l{radius * math.cos(turn):.0f} {radius * math.sin(turn):.0f}"
    sheet.line(lines, palette.mid, radius / 14)
    sheet.circle(x, y, radius / 2.4, fill=palette.accent)
    sheet.circle(x, y, radius / 5.5, fill=palette.ink)


def _belt(sheet: Sheet, first: tuple[float, float, float], second: tuple[float, float, float]) -> None:
    """The outer tangents of two wheels."""
    (x, y, radius), (to_x, to_y, to_radius) = first, second
    apart, along = math.dist((x, y), (to_x, to_y)), math.atan2(to_y - y, to_x - x)
    lean = math.acos((radius - to_radius) / apart)
    upper, lower = along - lean, along + lean
    start = around(x, y, radius, upper)
    path = (
        f"M{start}L{around(to_x, to_y, to_radius, upper)}"
        f"A{to_radius:.0f} {to_radius:.0f} 0 0 1 {around(to_x, to_y, to_radius, lower)}"
        f"L{around(x, y, radius, lower)}A{radius:.0f} {radius:.0f} 0 1 1 {start}z"
    )
    sheet.path(
        path,
        fill=mix(sheet.palette.ground, sheet.palette.mid, 0.35),
        stroke=sheet.palette.ink,
        stroke_width=7,
    )


FORMS = {"trio": trio, "door": door, "quarters": quarters, "machine": machine}
