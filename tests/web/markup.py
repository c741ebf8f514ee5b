"""A page, reduced to what a strict content security policy forbids, where it leads, and its images."""

from html.parser import HTMLParser


class Markup(HTMLParser):
    """What a page must not contain (`offences`), where it leads (`addresses`), and its images."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.offences: list[str] = []
        self.addresses: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.offences += [
            f"<{tag} {name}>" for name in attributes if name == "style" or name.startswith("on")
        ]
        if tag == "style" or (tag == "script" and "src" not in attributes):
            self.offences.append(f"<{tag}>")
        self.addresses += [
            value or "" for name, value in attrs if name in ("href", "src", "action", "srcset")
        ]
        if tag == "img":
            self.images.append(attributes)
