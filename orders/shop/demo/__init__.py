"""The demonstration's catalogue, what its delivery costs, and what its warehouse has when it opens."""

import json
from pathlib import Path

from django.conf import settings

from orders.shop.demo.catalogue import load_catalogue
from orders.shop.demo.delivery import load_delivery
from orders.shop.demo.editions import first_stock
from orders.shop.demo.posters import POSTERS

STOCK_FILE = "sandbox-stock.json"
"""In `VAR_DIR`. The sandbox reads it when it starts."""


def load() -> str:
    """Loads what is missing, and says what there is."""
    load_catalogue()
    load_delivery()
    var_dir: Path = settings.CONFIG.var_dir
    var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    (var_dir / STOCK_FILE).write_text(json.dumps(first_stock()))
    return f"{len(POSTERS)} posters"
