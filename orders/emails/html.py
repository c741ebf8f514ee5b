"""A letter as HTML: one frame for every email. Pure.

Mail programs know little CSS, so the layout is of tables and each element has its own style. The colours of a dark
screen are in the head, for programs that know them. Nothing is fetched: pictures are parts of the email, and without
them it says the same.
"""

from html import escape

from orders.emails.letter import Block, Button, Facts, Heading, Item, Items, Letter, Link, Note, Paragraph

_SANS = (
    "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans',Helvetica,Arial,sans-serif;"
)
_SERIF = "font-family:Georgia,'Times New Roman','Noto Serif',serif;"
_INK, _QUIET, _LINE, _PAPER, _GROUND, _ACTION = (
    "#1f1d1a",
    "#5e5850",
    "#ddd6ca",
    "#ffffff",
    "#f5f1ea",
    "#1f3a4d",
)

FRAME = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{subject}</title>
<style>
:root {{ color-scheme: light dark; supported-color-schemes: light dark; }}
@media (max-width: 480px) {{ .inner {{ padding: 24px 20px !important; }} }}
@media (prefers-color-scheme: dark) {{
.ground {{ background: #171512 !important; }}
.paper {{ background: #221f1b !important; border-color: #3b3630 !important; }}
.ink {{ color: #f3eee6 !important; }}
.quiet {{ color: #b9b0a3 !important; }}
.line {{ border-color: #3b3630 !important; }}
.action {{ background: #f3eee6 !important; color: #171512 !important; }}
}}
</style>
</head>
<body class="ground" style="margin:0;padding:0;background:{ground};">
<div style="display:none;max-height:0;overflow:hidden;">{preheader}{filler}</div>
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" \
style="background:{ground};">
<tr><td align="center" style="padding:24px 12px;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px;">
<tr><td class="ink" style="padding:0 4px 16px;{serif}font-size:18px;color:{ink};">{sender}</td></tr>
<tr><td class="paper inner" style="padding:32px;background:{paper};border:1px solid {line};border-radius:8px;">
{content}
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
"""
_FILLER = "&#8199;&#65279;&#847; " * 40
"""Keeps a list of emails from showing more of the email after the preheader."""


def as_html(letter: Letter) -> str:
    """The letter as an HTML document."""
    return FRAME.format(
        language=escape(letter.language),
        subject=escape(letter.subject),
        preheader=escape(letter.preheader),
        filler=_FILLER,
        sender=escape(letter.sender),
        content="\n".join(_block(block) for block in letter.blocks),
        **{"ground": _GROUND, "paper": _PAPER, "ink": _INK, "line": _LINE, "serif": _SERIF},
    )


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            style = (
                f"margin:0 0 16px;{_SERIF}font-size:26px;line-height:32px;font-weight:normal;color:{_INK};"
            )
            return f'<h1 class="ink" style="{style}">{escape(text)}</h1>'
        case Paragraph(text):
            style = f"margin:0 0 16px;{_SANS}font-size:16px;line-height:24px;color:{_INK};"
            return f'<p class="ink" style="{style}">{_lines(text)}</p>'
        case Note(text):
            style = f"margin:16px 0 0;{_SANS}font-size:14px;line-height:21px;color:{_QUIET};"
            return f'<p class="quiet" style="{style}">{_lines(text)}</p>'
        case Button(text, url):
            style = (
                f"display:inline-block;padding:12px 22px;{_SANS}font-size:16px;line-height:24px;font-weight:bold;"
                f"background:{_ACTION};color:#ffffff;border-radius:6px;text-decoration:none;"
            )
            link = f'<a class="action" href="{escape(url)}" style="{style}">{escape(text)}</a>'
            return f'<p style="margin:8px 0 24px;">{link}</p>'
        case Items():
            return _items(block)
        case Facts(rows):
            return _table("".join(_fact(label, fact) for label, fact in rows), "margin:16px 0 0;")


def _items(items: Items) -> str:
    rows = "".join(_item(row) for row in items.rows)
    rows += "".join(_sum(label, amount, is_total=False) for label, amount in items.added)
    if items.total:
        rows += _sum(*items.total, is_total=True)
    rows += "".join(_sum(label, amount, is_total=False) for label, amount in items.included)
    return _table(rows, "margin:8px 0 0;")


def _sum(label: str, amount: str, *, is_total: bool) -> str:
    look = f"font-size:16px;font-weight:bold;color:{_INK};" if is_total else f"font-size:14px;color:{_QUIET};"
    name = "ink" if is_total else "quiet"
    style = f"padding:{12 if is_total else 8}px 0;{_SANS}{look}"
    return (
        f'<tr><td class="{name}" colspan="2" style="{style}">{escape(label)}</td>'
        f'<td class="{name}" align="right" style="{style}white-space:nowrap;">{escape(amount)}</td></tr>'
    )


def _item(row: Item) -> str:
    cell = (
        f"padding:12px 0;border-bottom:1px solid {_LINE};{_SANS}font-size:16px;line-height:24px;color:{_INK};"
    )
    picture = row.picture
    shown = (
        f'<td class="line" width="{picture.width + 16}" valign="top" style="{cell}">'
        f'<img src="cid:{escape(picture.cid)}" width="{picture.width}" height="{picture.height}" alt="" '
        f'style="display:block;border:0;background:{_LINE};"></td>'
        if picture
        else ""
    )
    quantity = (
        f'<br><span class="quiet" style="font-size:14px;color:{_QUIET};">× {escape(row.quantity)}</span>'
    )
    span = "" if picture else ' colspan="2"'
    return (
        f'<tr>{shown}<td class="ink line"{span} valign="top" style="{cell}">{escape(row.title)}{quantity}</td>'
        f'<td class="ink line" align="right" valign="top" style="{cell}padding-left:12px;white-space:nowrap;">'
        f"{escape(row.amount)}</td></tr>"
    )


def _fact(label: str, fact: str | Link) -> str:
    style = f"padding:4px 0;{_SANS}font-size:14px;line-height:21px;"
    return (
        f'<tr><td class="quiet" valign="top" width="35%" style="{style}padding-right:12px;color:{_QUIET};">'
        f'{escape(label)}</td><td class="ink" valign="top" style="{style}color:{_INK};word-break:break-word;">'
        f"{_link(fact) if isinstance(fact, Link) else _lines(fact)}</td></tr>"
    )


def _link(link: Link) -> str:
    style = f"color:{_INK};text-decoration:underline;"
    return f'<a class="ink" href="{escape(link.url)}" style="{style}">{escape(link.text)}</a>'


def _table(rows: str, style: str) -> str:
    return (
        f'<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="{style}">'
        f"{rows}</table>"
    )


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())
