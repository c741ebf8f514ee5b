"""Order: a block of windows, a weave, nested squares, a greenhouse."""

from collections import defaultdict

from orders.shop.posters.sheet import HEIGHT, WIDTH, Sheet, lightness, mix

Paths = defaultdict[str, str]


def windows(sheet: Sheet) -> None:
    """A block of flats at night. Most windows are dark; on the fourth floor, somebody is up."""
    chance, palette = sheet.chance, sheet.palette
    dark = mix(palette.ground, "#000000", 0.4) if lightness(palette.ground) < 0.5 else palette.mid
    sheet.rect(0, 0, WIDTH, 260, fill=sheet.fade((0, dark, 1), (1, mix(palette.ground, palette.mid, 0.5), 1)))
    sheet.circle(chance.between(90, 160), 92, 30, fill=palette.accent)
    blocks = ((0, 172, 232), (172, 250, 128), (422, 178, 318))
    panes: Paths = defaultdict(str)
    for index, (x, width, top) in enumerate(blocks):
        wall = mix(palette.ground, palette.mid, (0.42, 0.16, 0.62)[index])
        sheet.rect(x, top, width, 700 - top, fill=wall)
        sheet.rect(x - 4, top - 8, width + 8, 9, fill=mix(wall, palette.soft, 0.35))
        columns = round(width / 46)
        apart, left = width / columns, x + (width / columns - 26) / 2
        floors = int((664 - top) / 54)
        for floor in range(floors):
            for column in range(columns):
                up = index == 1 and floors - floor == 4 and column == 2
                lit = up or chance.happens(0.24)
                colour = mix(wall, dark, 0.75)
                if lit:
                    colour = (
                        palette.ink if up or chance.happens(0.6) else mix(palette.ink, palette.accent, 0.6)
                    )
                elif chance.happens(0.3):
                    colour = mix(wall, palette.soft, 0.38)
                panes[colour] += (
                    f"M{left + column * apart:.0f} {top + 26 + floor * 54}h12v34h-12zm14 0h12v34h-12z"
                )
    for colour, path in panes.items():
        sheet.path(path, fill=colour)
    _tram(sheet, dark)


def _tram(sheet: Sheet, dark: str) -> None:
    chance, palette = sheet.chance, sheet.palette
    x = chance.whole(90, 230)
    sheet.rect(0, 696, WIDTH, 104, fill=dark)
    sheet.line("M0 640H600", palette.soft, 1, opacity=0.6)
    sheet.line(f"M{x + 90} 676l22-18-22-18", palette.soft, 2)
    sheet.rect(x, 676, 250, 76, fill=palette.ink, rx=12)
    sheet.path("".join(f"M{x + 16 + at * 38} 690h28v26h-28z" for at in range(6)), fill=dark)
    sheet.rect(x, 728, 250, 6, fill=palette.accent)
    sheet.path("".join(f"M{x + at} 752a11 11 0 0 0 22 0z" for at in (30, 66, 164, 200)), fill=palette.soft)
    sheet.rect(0, 764, WIDTH, 2, fill=palette.soft)


def weave(sheet: Sheet) -> None:
    """Broad threads, over and under one another in a twill that a seed decides."""
    chance, palette = sheet.chance, sheet.palette
    columns, rows, cell = 9, 12, 56.0
    left, top = (WIDTH - columns * cell) / 2, (HEIGHT - rows * cell) / 2
    thick = 44
    warp = [chance.one_of((palette.ink, palette.ink, palette.mid)) for _ in range(columns)]
    weft = [chance.one_of((palette.soft, palette.accent, palette.soft, palette.mid)) for _ in range(rows)]
    skip, over = chance.whole(1, 2), chance.whole(2, 3)
    inset = (cell - thick) / 2
    for column, colour in enumerate(warp):
        sheet.rect(left + column * cell + inset, top - 22, thick, rows * cell + 44, fill=colour)
    shade: str = ""
    floats: Paths = defaultdict(str)
    for row in range(rows):
        runs = [(column + row * skip) % (over + 1) != 0 for column in range(columns)]
        y = top + row * cell + inset
        column = 0
        while column < columns:
            if not runs[column]:
                column += 1
                continue
            start = column
            while column < columns and runs[column]:
                column += 1
            x, to = left + start * cell, left + column * cell
            x -= 22 if start == 0 else -1
            to += 22 if column == columns else -1
            floats[weft[row]] += f"M{x:.0f} {y:.0f}H{to:.0f}v{thick}H{x:.0f}z"
            shade += f"M{x:.0f} {y + thick:.0f}H{to:.0f}v6H{x:.0f}z"
    sheet.path(shade, fill=mix(palette.ink, "#000000", 0.5), opacity=0.28)
    for colour, path in floats.items():
        sheet.path(path, fill=colour)
    threads = "".join(
        f"M{left - 22:.0f} {top + row * cell + inset + at:.0f}h{columns * cell + 44:.0f}"
        for row in range(rows)
        for at in (11, 22, 33)
    )
    sheet.line(threads, palette.ground, 1, opacity=0.2)


def squares(sheet: Sheet) -> None:
    """A hundred and forty-four squares, twelve to a row, each with a smaller one inside it that looks about."""
    chance, palette = sheet.chance, sheet.palette
    tones = (palette.ink, palette.mid, palette.soft, palette.accent)
    outer: Paths = defaultdict(str)
    inner: Paths = defaultdict(str)
    for row in range(12):
        for column in range(12):
            x, y = 60 + column * 40, 160 + row * 40
            tone = chance.whole(0, 3)
            outer[tones[tone]] += f"M{x} {y}h40v40h-40z"
            size = chance.one_of((12, 18, 24))
            room = 40 - size - 8
            at_x, at_y = x + 4 + chance.whole(0, 1) * room, y + 4 + chance.whole(0, 1) * room
            other = (*tones, palette.ground)[(tone + chance.whole(1, 4)) % 5]
            inner[other] += f"M{at_x} {at_y}h{size}v{size}h-{size}z"
    for paths in (outer, inner):
        for colour, path in paths.items():
            sheet.path(path, fill=colour)


def panes(sheet: Sheet) -> None:
    """Panes of a greenhouse with leaves behind them, the right half the mirror of the left."""
    chance, palette = sheet.chance, sheet.palette
    tones = (mix(palette.ground, palette.soft, 0.35), mix(palette.ground, palette.soft, 0.75), palette.soft)
    glass: Paths = defaultdict(str)
    leaves: Paths = defaultdict(str)
    sun_row = chance.whole(0, 1)
    for row in range(6):
        for column in range(3):
            x, y = 60 + column * 80, 60 + round(row * 113.4)
            glass[chance.one_of(tones)] += f"M{x} {y}h80v114h-80z"
            kind, colours = (
                chance.whole(0, 4),
                chance.one_of(((palette.ink, palette.mid), (palette.mid, palette.ink))),
            )
            if (row, column) != (sun_row, 2):
                leaves[colours[0]] += _leaf(x, y, kind)
                leaves[colours[1]] += _bud(x, y, kind)
    for mirror in ("matrix(1 0 0 1 0 0)", "matrix(-1 0 0 1 600 0)"):
        sheet.group(transform=mirror)
        for paths in (glass, leaves):
            for colour, path in paths.items():
                sheet.path(path, fill=colour)
        sheet.end()
    sheet.circle(300, 60 + (sun_row + 0.5) * 113.4, 50, fill=palette.accent)
    bars = "".join(f"M{60 + at * 80} 60v680" for at in range(7))
    bars += "".join(f"M60 {60 + at * 113.4:.0f}h480" for at in range(7))
    sheet.line(bars, palette.ground, 5)
    sheet.line("M60 60h480v680h-480zM300 60v680M60 400h480", palette.ink, 6)


def _leaf(x: int, y: int, kind: int) -> str:
    """A leaf across the pane, or one that stands in it."""
    return (
        f"M{x + 40} {y + 106}c-42-28-38-70 0-98c38 28 42 70 0 98z",
        f"M{x} {y + 114}c0-70 26-108 80-114c0 70-26 108-80 114z",
        f"M{x} {y}h80a80 80 0 0 1-80 80z",
        f"M{x} {y + 114}c0-44 20-60 80-60c0 44-20 60-80 60z",
        f"M{x + 80} {y + 114}c0-70-26-108-80-114c0 70 26 108 80 114z",
    )[kind]


def _bud(x: int, y: int, kind: int) -> str:
    """Something small beside the leaf: a bud, or a second, younger leaf."""
    if kind == 3:
        return f"M{x + 80} {y + 50}c0-30-18-44-58-44c0 30 18 44 58 44z"
    return f"M{x + 50} {y + 92}m-10 0a10 10 0 1 0 20 0a10 10 0 1 0-20 0z" if kind == 2 else ""


FORMS = {"windows": windows, "weave": weave, "squares": squares, "panes": panes}
