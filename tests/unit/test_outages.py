"""While the database cannot be reached, clients are asked to come back later and later, and not all at once."""

from orders.access.outages import Outages


class Failing:
    """A process that fails for want of the database, whenever a test says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.bounds = (0, 0)
        self._outages = Outages(clock=lambda: self.now, chance=self._take)

    def _take(self, least: int, most: int) -> int:
        self.bounds = (least, most)
        return most

    def fail(self, *, after: float = 0.0) -> tuple[int, int]:
        """Fails once more. Returns between how many seconds the client is to come back."""
        self.now += after
        self._outages.note()
        return self.bounds


def test_the_first_failure_asks_for_a_second_or_two() -> None:
    assert Failing().fail() == (1, 2)


def test_the_longer_an_outage_lasts_the_longer_clients_are_to_wait() -> None:
    process = Failing()
    process.fail()
    waits = [process.fail(after=1.0) for _ in range(100)]
    assert waits[:4] == [(1, 2), (1, 2), (1, 2), (2, 4)]
    assert waits[9] == (5, 10)
    assert waits[19] == (10, 20)
    assert waits[29] == waits[-1] == (15, 30)
    assert waits == sorted(waits)


def test_an_outage_goes_on_while_clients_come_back_when_they_were_told() -> None:
    process = Failing()
    least, most = process.fail()
    for _ in range(8):
        previous, (least, most) = most, process.fail(after=most)
        assert most >= previous
    assert (least, most) == (15, 30)


def test_a_failure_long_after_the_last_one_is_a_new_outage() -> None:
    process = Failing()
    for _ in range(60):
        process.fail(after=1.0)
    assert process.fail(after=60.0) == (15, 30)
    assert process.fail(after=60.1) == (1, 2)
    assert process.fail(after=4.1) == (1, 2), "one failure now and then is no outage"


def test_clients_that_failed_together_do_not_come_back_together() -> None:
    times = iter([0.0, *range(30), *[30.0] * 200])
    outages = Outages(clock=lambda: next(times))
    for _ in range(31):
        outages.note()
    waits = {outages.note() for _ in range(200)}
    assert waits <= {*range(15, 31)}
    assert len(waits) > 10
