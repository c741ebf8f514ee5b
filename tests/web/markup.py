"""A page, reduced to what a strict content security policy forbids, where it leads, its images and its properties."""

from html.parser import HTMLParser

DATA = "application/ld+json"
"""The type of a block of data, which no browser runs, and no policy has to forbid."""


class Markup(HTMLParser):
    """What a page must not contain (`offences`), where it leads (`addresses`), its images, and its `properties`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.offences: list[str] = []
        self.addresses: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.properties: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.offences += [
            f"<{tag} {name}>" for name in attributes if name == "style" or name.startswith("on")
        ]
        is_inline = tag == "script" and "src" not in attributes and attributes.get("type") != DATA
        if tag == "style" or is_inline:
            self.offences.append(f"<{tag}>")
        self.addresses += [
            value or "" for name, value in attrs if name in ("href", "src", "action", "srcset")
        ]
        if tag == "meta" and (name := attributes.get("property")):
            self.properties[name] = attributes.get("content") or ""
        if tag == "img":
            self.images.append(attributes)
