"""What every family of tests may ask for."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.two_sessions import Session

# Plans that PostgreSQL would choose with wrong statistics. A claim must be right under each of them (F9).
BAD_PLANS = {
    "as planned": (),
    "nested loops": (
        "enable_hashjoin",
        "enable_mergejoin",
        "enable_hashagg",
        "enable_material",
        "enable_memoize",
    ),
    "no index": ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"),
    "no order from an index": ("enable_indexscan", "enable_seqscan", "enable_hashjoin", "enable_hashagg"),
}


@pytest.fixture(params=BAD_PLANS.values(), ids=BAD_PLANS.keys())
def switched_off(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Planner settings to switch off, one set after the other."""
    return request.param


@pytest.fixture
def new_session(transactional_db: None) -> Iterator[Callable[[], Session]]:
    """Opens sessions whose steps the test puts in order; what they left open is rolled back at the end."""
    opened: list[Session] = []

    def open_one() -> Session:
        opened.append(Session())
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()
