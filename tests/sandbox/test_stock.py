"""What the warehouse counts: how many are left, and which numbers of an edition each order gets."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.sandbox.process import BOUND, Reply, Sandbox, launch, new_key

RESERVE, RELEASE, STOCK = "/warehouse/reserve", "/warehouse/release", "/warehouse/stock"


def order(*lines: tuple[str, int] | tuple[str, int, int]) -> dict[str, Any]:
    """A reservation: the SKU and the quantity of each line, and the size of the edition if it is numbered."""
    names = ("sku", "quantity", "edition")
    return {"order_id": "o-1", "lines": [dict(zip(names, line, strict=False)) for line in lines]}


def reserve(sandbox: Sandbox, *lines: Any, key: str = "") -> Reply:
    return sandbox.call(RESERVE, order(*lines), key or new_key())


def release(sandbox: Sandbox, key: str) -> Reply:
    return sandbox.call(RELEASE, {"order_id": "o-1", "reverses": key}, new_key())


def left(sandbox: Sandbox) -> dict[str, int]:
    """What the warehouse says is left, by SKU, from all its pages."""
    stock: dict[str, int] = {}
    after = ""
    while True:
        page = sandbox.ask("GET", f"{STOCK}?after={after}").content
        stock |= {item["sku"]: item["left"] for item in page["stock"]}
        after = page["next"] or ""
        if not after:
            return stock


def test_stock_goes_down_with_each_reservation_and_up_with_its_release(own_sandbox: Sandbox) -> None:
    own_sandbox.faults("warehouse", stock={"wave": 5, "sun": 0})
    key = new_key()
    assert reserve(own_sandbox, ("wave", 2), key=key).status == 200
    assert reserve(own_sandbox, ("wave", 2), key=key).headers["Idempotent-Replayed"] == "true"
    assert left(own_sandbox) == {"wave": 3, "sun": 0}
    refused = reserve(own_sandbox, ("wave", 4))
    assert refused.content["error"]["detail"] == {"lines": [{"sku": "wave", "left": 3}]}
    assert left(own_sandbox) == {"wave": 3, "sun": 0}
    assert [release(own_sandbox, key).content["result"] for _ in range(2)] == ["reversed", "already_reversed"]
    assert left(own_sandbox) == {"wave": 5, "sun": 0}


def test_what_no_fault_and_no_edition_names_is_printed_to_order_and_not_counted(own_sandbox: Sandbox) -> None:
    assert [reserve(own_sandbox, ("wave", 900)).status for _ in range(2)] == [200, 200]
    assert reserve(own_sandbox, ("wave", 901)).code == "sold_out"
    assert left(own_sandbox) == {}


def test_a_fault_says_what_is_left_now_shows_what_is_left_since_and_ends_with_the_faults(
    own_sandbox: Sandbox,
) -> None:
    own_sandbox.faults("warehouse", stock={"wave": 3})
    assert reserve(own_sandbox, ("wave", 2)).status == 200
    assert own_sandbox.ask("GET", "/_faults").content["warehouse"]["stock"] == {"wave": 1}
    assert own_sandbox.faults("warehouse", error_rate=0).content["stock"] == {"wave": 1}
    assert own_sandbox.faults("warehouse", stock={"wave": 3}).content["stock"] == {"wave": 3}
    own_sandbox.end()
    own_sandbox.start()
    assert left(own_sandbox) == {}
    own_sandbox.faults("warehouse", stock={"wave": 3})
    assert own_sandbox.ask("DELETE", "/_faults").content["warehouse"]["stock"] == {}
    assert left(own_sandbox) == {}


def test_an_edition_gives_its_lowest_free_numbers_and_the_same_again_for_the_same_key(
    own_sandbox: Sandbox,
) -> None:
    key = new_key()
    first = reserve(own_sandbox, ("atlas", 2, 5), ("wave", 1), key=key)
    assert first.content["editions"] == [{"sku": "atlas", "numbers": [1, 2], "of": 5}]
    assert first.content["reservation"].startswith("rsv_")
    assert reserve(own_sandbox, ("atlas", 2, 5), ("wave", 1), key=key).content == first.content
    second = reserve(own_sandbox, ("atlas", 1, 5))
    assert second.content["editions"] == [{"sku": "atlas", "numbers": [3], "of": 5}]
    assert left(own_sandbox) == {"atlas": 2}
    release(own_sandbox, key)
    third = reserve(own_sandbox, ("atlas", 3, 5))
    assert third.content["editions"] == [{"sku": "atlas", "numbers": [1, 2, 4], "of": 5}]
    assert "editions" not in reserve(own_sandbox, ("wave", 1)).content


def test_an_edition_that_is_used_up_is_sold_out(own_sandbox: Sandbox) -> None:
    assert reserve(own_sandbox, ("atlas", 2, 3)).status == 200
    refused = reserve(own_sandbox, ("atlas", 2, 3))
    assert (refused.status, refused.code) == (422, "sold_out")
    assert refused.content["error"]["detail"] == {"lines": [{"sku": "atlas", "left": 1}]}
    assert left(own_sandbox) == {"atlas": 1}


def test_a_fault_can_leave_fewer_of_an_edition_and_never_more(own_sandbox: Sandbox) -> None:
    reserve(own_sandbox, ("atlas", 1, 3))
    own_sandbox.faults("warehouse", stock={"atlas": 1})
    assert left(own_sandbox) == {"atlas": 1}
    own_sandbox.faults("warehouse", stock={"atlas": 50})
    assert left(own_sandbox) == {"atlas": 2}
    assert reserve(own_sandbox, ("atlas", 3, 3)).code == "sold_out"


def test_a_reversal_that_comes_first_leaves_every_number_free(own_sandbox: Sandbox) -> None:
    key = new_key()
    assert release(own_sandbox, key).content["result"] == "nothing_to_reverse"
    assert reserve(own_sandbox, ("atlas", 1, 3), key=key).code == "reversed"
    assert reserve(own_sandbox, ("atlas", 3, 3)).content["editions"][0]["numbers"] == [1, 2, 3]


def test_no_number_is_given_twice_under_concurrency(own_sandbox: Sandbox) -> None:
    """Eighty orders at once, each released and reserved anew by some, for an edition of one hundred."""

    def buy(index: int) -> list[int]:
        key = new_key()
        numbers: list[int] = reserve(own_sandbox, ("atlas", 1, 100), key=key).content["editions"][0][
            "numbers"
        ]
        if index % 4:
            return numbers
        release(own_sandbox, key)
        again: list[int] = reserve(own_sandbox, ("atlas", 2, 100)).content["editions"][0]["numbers"]
        return again

    with ThreadPoolExecutor(20) as pool:
        held = [number for numbers in pool.map(buy, range(80)) for number in numbers]
    assert len(held) == 100
    assert sorted(held) == list(range(1, 101))
    assert reserve(own_sandbox, ("atlas", 1, 100)).code == "sold_out"
    assert left(own_sandbox) == {"atlas": 0}


def test_stock_is_listed_by_sku_a_page_at_a_time(own_sandbox: Sandbox) -> None:
    own_sandbox.faults("warehouse", stock={f"print-{number:03}": number for number in range(250)})
    first = own_sandbox.ask("GET", STOCK).content
    assert len(first["stock"]) == 100
    assert (first["stock"][0], first["next"]) == ({"sku": "print-000", "left": 0}, "print-099")
    assert left(own_sandbox) == {f"print-{number:03}": number for number in range(250)}


def test_stock_cannot_be_read_while_the_warehouse_fails(own_sandbox: Sandbox) -> None:
    own_sandbox.faults("warehouse", error_rate=1)
    assert own_sandbox.ask("GET", STOCK).code == "injected_error"


def test_the_first_stock_is_read_from_a_file_once(own_sandbox: Sandbox) -> None:
    own_sandbox.end()
    first = {"atlas": {"left": 3, "of": 25}, "wave": {"left": 2}}
    (Path(own_sandbox.var_dir) / "sandbox-stock.json").write_text(json.dumps(first))
    own_sandbox.start()
    assert left(own_sandbox) == {"atlas": 3, "wave": 2}
    assert reserve(own_sandbox, ("atlas", 1, 25), ("wave", 1)).content["editions"] == [
        {"sku": "atlas", "numbers": [23], "of": 25}
    ]
    own_sandbox.end()
    own_sandbox.start()
    assert left(own_sandbox) == {"atlas": 2, "wave": 1}


def test_a_file_of_stock_that_is_none_stops_the_start_with_one_line(own_sandbox: Sandbox) -> None:
    own_sandbox.end()
    (Path(own_sandbox.var_dir) / "sandbox-stock.json").write_text('{"wave": 3}')
    process = launch(own_sandbox.var_dir, f"127.0.0.1:{own_sandbox.port}")
    _, errors = process.communicate(timeout=BOUND)
    assert (process.returncode, errors.count("\n")) == (1, 1)
    assert "sandbox-stock.json" in errors


def test_an_edition_has_a_size(own_sandbox: Sandbox) -> None:
    assert reserve(own_sandbox, ("atlas", 1, 0)).code == "invalid_body"
