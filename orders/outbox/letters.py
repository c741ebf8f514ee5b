"""What all letters to customers have in common: whom they are from, their language, and what a list shows of them."""

from collections.abc import Sequence

from django.conf import settings
from django.utils.translation import get_language

from orders.emails.letter import Block, Letter, Paragraph
from orders.wording.customers.labels import labelled


def sender_name() -> str:
    """The name that customers know us by."""
    return str(settings.CONFIG.shop_name)


def letter_of(subject: str, blocks: Sequence[Block]) -> Letter:
    """A letter in the active language. A list of emails shows how its first paragraph begins."""
    first = next((block.text for block in blocks if isinstance(block, Paragraph)), "")
    return Letter(
        language=get_language() or "en",
        sender=sender_name(),
        subject=subject,
        preheader=first,
        blocks=blocks,
        labelled=labelled(),
    )
