"""What would be refused once more: a correction of what the carrier or the warehouse has just refused. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.business import RefusedAgainError
from orders.business.reading import refuse_all
from orders.engine.contracts import Json
from orders.shop.agents.codes import NOT_SERVED, SOLD_OUT
from orders.shop.refusal_words import count_left, refused_country

OF_A_PERSON = frozenset({"name", "phone"})
"""The parts of an address that say who gets the parcel, not where."""
SAME_ADDRESS = _("Our carrier doesn’t deliver to this address. Give us another one.")
STILL_TOO_MANY = _("We don’t have enough for this. Order fewer, or cancel the order.")


def check(refusal: Json, changes: Json, *, before: Json, after: Json) -> None:
    """See `OrderKind.check_correction`."""
    detail = refusal.get("detail")
    detail = detail if isinstance(detail, Mapping) else {}
    if refusal.get("code") == NOT_SERVED and "ship_to" in changes:
        _check_address(detail, before["ship_to"], after["ship_to"])
    elif refusal.get("code") == SOLD_OUT and "lines" in changes:
        _check_lines(detail, changes["lines"], before["lines"], after["lines"])


def _check_address(detail: Json, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    country = after["country"]
    if refused_country(detail) == country:
        raise RefusedAgainError(
            f"ship_to.country must be another one: the carrier has refused to deliver to {country}.",
            where="ship_to.country",
            words=_another_country(country),
        )
    if _place(before) == _place(after):
        raise RefusedAgainError(
            "ship_to must be another address: the carrier has refused to deliver to this one.",
            where="ship_to",
            words=SAME_ADDRESS,
        )


def _place(address: Mapping[str, str]) -> Mapping[str, str]:
    return {part: text for part, text in address.items() if part not in OF_A_PERSON}


def _another_country(code: str) -> str:
    from orders.fields import countries  # noqa: PLC0415 - the roles need no names of countries

    words = gettext("Our carrier doesn’t deliver to {country}. Choose another country.")
    return words.format(country=countries.name_in_sentence(code))


def _check_lines(
    detail: Json, changes: Sequence[Json], before: Sequence[Json], after: Sequence[Json]
) -> None:
    stock = count_left(detail)
    refuse_all(
        [
            RefusedAgainError(text, where=where, words=STILL_TOO_MANY)
            for text, where in _too_many(stock, changes, after)
        ]
    )
    if after == before:
        text = "lines must be of fewer than the warehouse has refused."
        raise RefusedAgainError(text, where="lines", words=STILL_TOO_MANY)


def _too_many(
    stock: Mapping[str, int], changes: Sequence[Json], after: Sequence[Json]
) -> Iterator[tuple[str, str]]:
    """What is said of each line of which there is not enough, and where it is in the changes."""
    named = {line["sku"]: index for index, line in enumerate(changes)}
    for line in after:
        sku = line["sku"]
        most: int = stock.get(sku, line["quantity"])
        if line["quantity"] <= most:
            continue
        if sku not in named:
            verb = "are" if most != 1 else "is"
            count = f"only {most}" if most else "none"
            yield f"lines must also name {sku!a}, of which {count} {verb} left.", "lines"
            continue
        where = f"lines[{named[sku]}].quantity"
        limit = f"at most {most}, as many as are left" if most else "0, because none are left"
        yield f"{where} must be {limit}.", where
