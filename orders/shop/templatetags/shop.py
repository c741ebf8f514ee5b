"""Template tags of the shop: pictures of posters.

{% picture_url poster.sku poster.design %}
"""

from typing import Any

from django import template
from django.urls import reverse

from orders.shop import posters

register = template.Library()


@register.simple_tag
def picture_url(sku: str, design: Any) -> str:
    """The URL of a product's picture. It changes with the picture, so browsers may cache it for ever."""
    return f"{reverse('shop:picture', args=[sku])}?v={posters.fingerprint(design)}"
