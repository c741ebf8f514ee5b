"""The pictures of posters that emails carry."""

from collections.abc import Sequence

from orders.business import LinePicture
from orders.shop import catalogue, posters


def line_pictures(skus: Sequence[str], *, width: int) -> dict[str, LinePicture]:
    """The posters that these products show, as PNGs so many pixels wide; none of a product that has gone. One
    statement."""
    height = round(width * posters.HEIGHT / posters.WIDTH)
    return {
        sku: LinePicture(png=posters.paint(product.design, width=width), width=width, height=height)
        for sku, product in catalogue.line_products(skus).items()
    }
