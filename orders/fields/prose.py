"""A text of several lines, such as a note."""


def tidy_prose(text: str, *, longest: int) -> str:
    """The text without NUL characters, which the database refuses, and without space around it, with the line endings
    of a Unix text. What is beyond `longest` characters is cut off."""
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:longest].rstrip()
