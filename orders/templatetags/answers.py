"""Template filters for what remote services answer.

{{ exchange.body|readable }}     the body of an answer: JSON on several lines, and any other text as it is
"""

import json

from django import template

from orders.wording.events import LONGEST_DETAIL, shorten

register = template.Library()


@register.filter
def readable(body: str) -> str:
    """The body of an answer as people read it."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        text = body
    return shorten(text, LONGEST_DETAIL)
