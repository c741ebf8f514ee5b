"""What is shown of the posters that were ordered: their pictures, and what the pages call them."""

from collections.abc import Mapping

from orders.business import LineName, LinePicture
from orders.shop import posters
from orders.shop.catalogue import LineProduct


def line_names(products: Mapping[str, LineProduct]) -> dict[str, LineName]:
    """The name of each product."""
    return {sku: line_name(product) for sku, product in products.items()}


def line_name(product: LineProduct) -> LineName:
    """The title of a product's poster, with its size and edition in the language in which it was looked up."""
    return LineName(title=product.poster_title, details=product.offer.format_name)


def line_pictures(products: Mapping[str, LineProduct], *, width: int) -> dict[str, LinePicture]:
    """The posters that these products show, as PNGs so many pixels wide."""
    height = round(width * posters.HEIGHT / posters.WIDTH)
    return {
        sku: LinePicture(png=posters.paint(product.design, width=width), width=width, height=height)
        for sku, product in products.items()
    }
