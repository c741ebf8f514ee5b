"""The id of an order that is placed with a key: it never changes, and nobody else's key leads to it (S3, A3)."""

from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.business.order_ids import derived_order_id


@pytest.mark.pattern("S3", "F35")
@pytest.mark.parametrize(
    ("client", "key", "order_id"),
    [
        ("user:7", "order-1", "64a7976a-c848-8689-9f1b-ed837a8e6632"),
        ("guest", "checkout-1", "292022c1-8471-80cb-9606-1a33f51ccb2c"),
        ("user:7", "é", "9dff2c47-f401-8551-91e2-d4d76163356e"),
    ],
)
def test_a_client_and_a_key_have_the_same_id_in_every_release(client: str, key: str, order_id: str) -> None:
    """Remote services have seen these ids. If this test fails, a restored database would repeat their effects."""
    assert derived_order_id(client=client, key=key) == UUID(order_id)


def test_clients_and_keys_that_read_alike_one_after_the_other_have_different_ids() -> None:
    pairs = [("user:1", "23"), ("user:12", "3"), ("user:123", ""), ("", "user:123"), ("user:1", "2 3")]
    ids = {derived_order_id(client=client, key=key) for client, key in pairs}
    assert len(ids) == len(pairs)


texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(st.sets(st.tuples(texts, texts), min_size=2, max_size=4))
def test_different_clients_or_keys_have_different_ids(pairs: set[tuple[str, str]]) -> None:
    ids = [derived_order_id(client=client, key=key) for client, key in pairs]
    assert len(set(ids)) == len(pairs)


@given(texts, texts)
def test_an_id_is_a_version_8_uuid(client: str, key: str) -> None:
    order_id = derived_order_id(client=client, key=key)
    assert (order_id.version, order_id.variant) == (8, RFC_4122)
