"""The shop's public pages: the catalogue, a poster, a poster's picture."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from orders.access.public_urls import public_url
from orders.shop import catalogue as catalogue_selectors
from orders.shop import nearest, posters
from orders.shop.catalogue import PosterView
from orders.shop.offers import Offer, read_size, size_name
from orders.shop.storefront import catalogue_query, linked_data
from orders.shop.storefront.advice import advice

NEAREST = 8
"""Posters that are shown in place of none."""
FOR_EVER = "public, max-age=31536000, immutable"
FOR_A_WHILE = "public, max-age=300"
PNG_SIZE = (900, 1200)
"""Width and height, in pixels, of the pictures for those that show no SVG: emails, chats, search engines."""


@login_not_required
@require_safe
@gzip_page
def show_catalogue(request: HttpRequest) -> HttpResponse:
    """The catalogue. Its query string searches, filters, sorts and pages it."""
    sizes = catalogue_selectors.sizes()
    form = catalogue_query.read(request.GET, sizes=sizes)
    query = form.cleaned_data
    shelf = catalogue_selectors.shelf(
        poster_filter=form.poster_filter,
        page=query["page"],
        per_page=catalogue_query.PER_PAGE,
        families=posters.FAMILIES,
    )
    pages = Paginator(range(shelf.total), catalogue_query.PER_PAGE)
    families = [
        {"key": key, "name": name, "count": shelf.families[key]}
        for key, name in catalogue_query.FAMILY_NAMES.items()
    ]
    is_vain = bool(query["q"]) and not shelf.total
    is_chosen = form.is_filtered or form.has_wrong_price or query["sort"] != catalogue_query.FEATURED
    near = nearest.nearest(form.words_filter, limit=NEAREST) if is_vain else None
    context = {
        "form": form,
        "query": query,
        "is_filtered": form.is_filtered,
        "advice": advice(query, others=sum(shelf.families.values())),
        "shelf": shelf,
        "nearest": near,
        "total": near.total if near else shelf.total,
        "families": families,
        "family_name": catalogue_query.FAMILY_NAMES.get(query["family"], ""),
        "everything": sum(shelf.families.values()),
        "sizes": [(size, size_name(read_size(size))) for size in sizes],
        "chosen_size": size_name(read_size(query["size"])),
        "sorts": catalogue_query.SORTS.items(),
        "page_numbers": list(pages.get_elided_page_range(shelf.page, on_each_side=1, on_ends=1)),
        "shows_hero": not is_chosen and shelf.page == 1,
        "canonical": public_url("shop:catalogue"),
    }
    return render(request, "storefront/catalogue.html", context)


@login_not_required
@require_safe
@gzip_page
def show_poster(request: HttpRequest, sku: str) -> HttpResponseBase:
    """A poster's page; `?choice=` selects one of its offers. The URL of a variant leads to its poster."""
    poster = catalogue_selectors.poster(sku)
    if poster is None:
        poster_sku = catalogue_selectors.poster_of(sku)
        if poster_sku is None:
            raise Http404
        return redirect(f"{reverse('shop:poster', args=[poster_sku])}?choice={sku}")
    editions = dict.fromkeys(offer.edition for offer in poster.offers)
    page = public_url("shop:poster", poster.sku)
    picture = f"{public_url('shop:picture-png', poster.sku)}?v={posters.fingerprint(poster.design)}"
    context = {
        "poster": poster,
        "family_name": catalogue_query.FAMILY_NAMES.get(poster.family, ""),
        "editions": [[offer for offer in poster.offers if offer.edition == edition] for edition in editions],
        "selected_offer": _selected(poster, request.GET.get("choice")),
        "most": max(offer.most for offer in poster.offers),
        "beside": catalogue_selectors.beside(poster, count=4),
        "canonical": page,
        "picture": picture,
        "picture_size": PNG_SIZE,
        "linked_data": linked_data.product_block(poster, url=page, picture=picture),
    }
    return render(request, "storefront/poster.html", context)


def _selected(poster: PosterView, choice: str | None) -> Offer:
    """The chosen offer, or else the one that the catalogue shows, or the cheapest: the first that is not sold out."""
    preferred = [offer for sku in (choice, poster.sku) for offer in poster.offers if offer.sku == sku]
    offers = [*preferred, *poster.offers]
    return next((offer for offer in offers if not offer.is_sold_out), offers[0])


@login_not_required
@require_safe
@gzip_page
def show_picture(request: HttpRequest, sku: str) -> HttpResponseBase:
    """A poster's picture. A URL with its fingerprint, which changes with the picture, may be cached for ever."""
    return _picture(request, sku, _drawn, "image/svg+xml; charset=utf-8")


@login_not_required
@require_safe
def show_picture_as_png(request: HttpRequest, sku: str) -> HttpResponseBase:
    """The same as PNG, of `PNG_SIZE`."""
    return _picture(request, sku, _painted, "image/png")


def _picture(
    request: HttpRequest, sku: str, draw: Callable[[str], bytes], content_type: str
) -> HttpResponseBase:
    design = catalogue_selectors.design_of(sku)
    if design is None:
        raise Http404
    mark = posters.fingerprint(design)
    response: HttpResponseBase | None = get_conditional_response(request, etag=f'W/"{mark}"')
    response = response or HttpResponse(draw(json.dumps(design, sort_keys=True)), content_type=content_type)
    response["ETag"] = f'W/"{mark}"'
    response["Cache-Control"] = FOR_EVER if request.GET.get("v") == mark else FOR_A_WHILE
    return response


@lru_cache(maxsize=1024)
def _drawn(design: str) -> bytes:
    raw: Any = json.loads(design)
    return posters.draw(raw).encode()


@lru_cache(maxsize=128)
def _painted(design: str) -> bytes:
    return posters.paint(json.loads(design), width=PNG_SIZE[0])


@login_not_required
@require_safe
def show_design(request: HttpRequest, page: str = "storefront/design.html") -> HttpResponse:
    """The design system on one page, or one of the error pages, for developers. Only in DEBUG."""
    if not settings.DEBUG:
        raise Http404
    return render(request, page)
