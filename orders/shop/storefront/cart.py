"""The cart: SKUs and quantities in the session, for guests and accounts alike. Prices always come from the catalogue.

Django keeps a session's content when its owner signs in, and clears it when she signs out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest

from orders.fields.money import Money
from orders.shop import catalogue as catalogue_selectors
from orders.shop.availability import FEW
from orders.shop.catalogue import LineProduct
from orders.shop.pictures import line_name
from orders.shop.refusal_words import explain_shortage

KEY = "cart"
MOST_LINES = 50
LONGEST_SKU = 40


@dataclass(frozen=True, kw_only=True)
class CartLine:
    """A product in the cart. `sold` is None when the shop no longer knows it."""

    sku: str
    quantity: int
    sold: LineProduct | None

    @property
    def is_gone(self) -> bool:
        """Whether it is no longer for sale."""
        return self.sold is None or not self.sold.is_listed

    @property
    def title(self) -> str:
        """What it is, with its size and edition in the active language."""
        return self.sku if self.sold is None else line_name(self.sold).whole

    @property
    def stock(self) -> int | None:
        """How many the warehouse has; None if nobody knows, or if it is gone."""
        return None if self.sold is None or self.is_gone else self.sold.offer.stock

    @property
    def most(self) -> int:
        """The most that can be ordered of it."""
        return 0 if self.sold is None else self.sold.offer.most

    @property
    def few_left(self) -> int | None:
        """How many are left, if that is few and enough for the cart."""
        return self.stock if self.stock and self.quantity <= self.stock <= FEW else None

    @property
    def is_short(self) -> bool:
        """Whether there are fewer than the cart has."""
        return self.stock is not None and self.quantity > self.stock

    @property
    def price(self) -> Money | None:
        """What the whole line costs; None if it is gone."""
        if self.sold is None or self.is_gone:
            return None
        unit_price = self.sold.offer.price
        return Money(amount=unit_price.amount * self.quantity, currency=unit_price.currency)


@dataclass(frozen=True, kw_only=True)
class Cart:
    """What a customer is about to buy, at current prices. `total` is None when nothing in it is for sale."""

    lines: Sequence[CartLine]
    total: Money | None

    @property
    def has_gone(self) -> bool:
        """Whether something in it is no longer for sale."""
        return any(line.is_gone for line in self.lines)

    @property
    def has_short(self) -> bool:
        """Whether there are fewer of something than it has."""
        return any(line.is_short for line in self.lines)

    @property
    def shortages(self) -> Sequence[str]:
        """What it has more of than there is, and how many there are: a sentence for each."""
        stock = [{"sku": line.sku, "left": line.stock} for line in self.lines if line.is_short]
        return explain_shortage({"lines": stock}, self.lines)

    @property
    def count(self) -> int:
        """How many prints it holds in all."""
        return sum(line.quantity for line in self.lines)


def read(request: HttpRequest) -> Cart:
    """The cart of this session. One SQL statement."""
    quantities = quantities_of(request)
    sold = catalogue_selectors.line_products(quantities) if quantities else {}
    lines = [CartLine(sku=sku, quantity=quantity, sold=sold.get(sku)) for sku, quantity in quantities.items()]
    prices = [line.price for line in lines if line.price]
    total = (
        Money(amount=sum(price.amount for price in prices), currency=prices[0].currency) if prices else None
    )
    return Cart(lines=lines, total=total)


def quantities_of(request: HttpRequest) -> Mapping[str, int]:
    """The quantity of each SKU, in the order in which they were added."""
    quantities = request.session.get(KEY)
    return quantities if isinstance(quantities, dict) else {}


def count(request: HttpRequest) -> int:
    """How many prints are in the cart. No SQL statement when there is no session."""
    return sum(quantities_of(request).values())


def add(request: HttpRequest, *, sku: str, quantity: int, most: int) -> int | None:
    """Adds a product; returns its quantity now, at most `most`, or None when the cart is full."""
    quantities = dict(quantities_of(request))
    if sku not in quantities and len(quantities) >= MOST_LINES:
        return None
    quantities[sku] = min(most, quantities.get(sku, 0) + quantity)
    request.session[KEY] = quantities
    return quantities[sku]


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What became of products that were to be added. `additions` is how many are in the cart now, `withdrawals` how
    many are not for sale, and `unplaced` how many have no room in it. `shortages` are sentences about those of which
    too few are left, or none. Of those in `capped` the cart has as many as can be ordered, but fewer than were to be
    added."""

    additions: int
    withdrawals: int
    unplaced: int
    shortages: Sequence[str]
    capped: Sequence[CartLine]


def add_all(request: HttpRequest, quantities: Mapping[str, int]) -> Addition:
    """Adds these products, as far as they are for sale and left, and the cart has room. What it has stays in it."""
    present = quantities_of(request)
    sold = catalogue_selectors.line_products(quantities)
    lines = [CartLine(sku=sku, quantity=quantity, sold=sold.get(sku)) for sku, quantity in quantities.items()]
    additions: list[CartLine] = []
    capped: list[CartLine] = []
    for line in lines:
        before = present.get(line.sku, 0)
        most = max(line.most, before)
        now = add(request, sku=line.sku, quantity=line.quantity, most=most) if line.most else None
        if now is not None:
            additions.append(replace(line, quantity=now))
            if now < before + min(line.quantity, line.most):
                capped.append(additions[-1])
    return Addition(
        additions=len(additions),
        withdrawals=sum(line.is_gone for line in lines),
        unplaced=sum(line.most > 0 for line in lines) - len(additions),
        shortages=Cart(lines=lines, total=None).shortages,
        capped=capped,
    )


def change(request: HttpRequest, *, sku: str, quantity: int, most: int) -> int | None:
    """Sets the quantity of a product in the cart, at most `most`; 0 takes it out. One that cannot be ordered any more
    can only be lowered. Returns the quantity; None if it was not in the cart, and stays out."""
    quantities = dict(quantities_of(request))
    if sku not in quantities:
        return None
    quantities[sku] = min(most or quantities[sku], quantity)
    request.session[KEY] = {name: number for name, number in quantities.items() if number}
    return quantities[sku]


def empty(request: HttpRequest) -> None:
    """Empties the cart."""
    request.session.pop(KEY, None)


def for_templates(request: HttpRequest) -> Mapping[str, object]:
    """Context processor: `cart_count`. Evaluated only by templates that show it, so error pages need no session."""
    return {"cart_count": lambda: count(request) if hasattr(request, "session") else 0}
