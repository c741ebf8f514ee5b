"""The ids of an order's trace, and what is taken from a client's header."""

from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.tracing import ids

ORDER = UUID("0190d6c7-1111-7aaa-8bbb-000000000001")
OTHER = UUID("0190d6c7-1111-7aaa-8bbb-000000000002")


def test_each_order_step_attempt_and_host_has_an_id_of_its_own_and_it_never_changes() -> None:
    numbers = [
        ids.trace_id(ORDER),
        ids.trace_id(OTHER),
        ids.first_span_id(ORDER),
        ids.first_span_id(OTHER),
        ids.request_span_id(ORDER, "mix", 1),
        ids.request_span_id(ORDER, "mix", 11),
        ids.request_span_id(ORDER, "mix-1", 1),
        ids.call_span_id(ORDER, "mix", 1, "agents:a"),
        ids.call_span_id(ORDER, "mix", 1, "agents:b"),
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 < number < 2**64 for number in numbers[2:])
    # Processes of another release must find the same.
    assert f"{numbers[0]:032x}" == "4a035956e35653743179bd5817f326dc"
    assert f"{numbers[2]:016x}" == "101285de5065bd3f"


def test_the_last_digits_of_the_trace_ids_of_new_orders_are_evenly_spread() -> None:
    """A sampler compares them with a part of their range. Those of the order ids all start with 8, 9, a or b."""
    low = [ids.trace_id(uuid7()) % 2**64 < 2**64 // 10 for _ in range(4_000)]
    assert 280 < sum(low) < 520


GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_header_that_we_write_can_be_read() -> None:
    context = ids.Context(int(GOOD[3:35], 16), int(GOOD[36:52], 16), True)
    assert ids.read_traceparent(GOOD) == context
    assert ids.write_traceparent(*context[:2], is_sampled=True) == GOOD
    assert ids.read_traceparent(f"01{GOOD[2:]}-more") == context  # a later version may say more
    assert ids.read_traceparent(f"{GOOD[:-2]}00") == context._replace(is_sampled=False)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"{GOOD}-more",
        GOOD.upper(),
        f"ff{GOOD[2:]}",
        f"00-{'0' * 32}{GOOD[35:]}",
        f"{GOOD[:36]}{'0' * 16}-01",
        f"{GOOD}\n{GOOD}",
        GOOD.replace("0af7", "\u0660af7"),
    ],
)
def test_a_header_that_is_no_traceparent_is_left_out(header: str) -> None:
    assert ids.read_traceparent(header) is None
