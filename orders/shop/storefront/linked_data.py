"""What search engines and other programs read of a product's page: JSON-LD in the vocabulary of schema.org.

It stands in the page as a block of data, which no browser runs, so the content security policy does not concern it.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from orders.shop.availability import Availability
from orders.shop.catalogue import PosterView
from orders.shop.offers import Offer

ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""So that no text of a product can end the block."""

AVAILABILITIES: Mapping[Availability, str] = {
    Availability.IN_STOCK: "InStock",
    Availability.FEW_LEFT: "LimitedAvailability",
    Availability.SOLD_OUT: "SoldOut",
    Availability.NOT_FOR_SALE: "OutOfStock",
}


def product_block(poster: PosterView, *, url: str, picture: str) -> SafeString:
    """The block for a poster. `url` is its page and `picture` its picture, both with their host."""
    text = json.dumps(_product(poster, url=url, picture=picture), ensure_ascii=False).translate(ESCAPES)
    return format_html('<script type="application/ld+json">{}</script>', mark_safe(text))


def _product(poster: PosterView, *, url: str, picture: str) -> Mapping[str, Any]:
    return {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": poster.title,
        "description": poster.description,
        "sku": poster.sku,
        "url": url,
        "image": picture,
        "brand": {"@type": "Brand", "name": poster.artist},
        "offers": [_offer(offer, url=url) for offer in poster.offers],
    }


def _offer(offer: Offer, *, url: str) -> Mapping[str, Any]:
    return {
        "@type": "Offer",
        "sku": offer.sku,
        "name": offer.title,
        "url": f"{url}?choice={offer.sku}",
        "price": offer.price.figures,
        "priceCurrency": offer.price.currency,
        "availability": f"https://schema.org/{AVAILABILITIES[offer.availability]}",
        "itemCondition": "https://schema.org/NewCondition",
    }
