"""Where an event is in its customer's feed of changes, so that a reader who follows the positions misses nothing.

The ids of events are no such positions: a transaction that drew a low id may commit after one that drew a higher one,
and a reader who had gone on would never see it. A position is the number that PostgreSQL would give to a transaction
when the event is written, or that of the event's own transaction if this is greater (`POSITION`). Since an order is
locked while its events are written, its positions never fall.

Whoever writes an event holds the table's lock from before its position is chosen until it is committed. So a reader
looks first at the next number, then at who holds that lock: what is not committed yet has at least the lowest of these
numbers, and so has all that is ever written afterwards (`look`). Events below it are settled: a later
statement sees them all. Other transactions, however long they last, hold nobody up.

Transactions have numbers of their own in each cluster of PostgreSQL, and after a failover some may be given again. So
the number of the epoch comes before that of the transaction, and an epoch ends when the server is another than before.
"""

from typing import NamedTuple

from django.db import transaction

from orders.engine.runtime.sql import fetch, fetch_frequent, run

EPOCH_BITS = 48
"""How many bits of a position are the transaction's. It would take a cluster centuries to use them up."""

CLUSTER = """
    (SELECT concat_ws(':', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), oid,
                      'orders_event'::regclass::oid)
       FROM pg_control_system(), pg_database
      WHERE datname = current_database())
"""
"""Which server this is, on which timeline, and which database and table: one of them is another after a restore, and
the timeline is another after a failover."""

_EPOCH = f"(coalesce((SELECT number FROM orders_feedepoch), 0)::bigint << {EPOCH_BITS})"
_NEXT = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
POSITION = f"(SELECT {_EPOCH} | greatest({_NEXT}, pg_current_xact_id()::text::bigint))"
"""The position of what the statement writes that chooses it. It must not see an older snapshot than its own."""

# The server's table of locks has the last 32 bits of a transaction's number, which is not far from the next one's.
_SETTLED = f"""
    SELECT {_EPOCH} | least(present.next, min(present.next - (
               (present.next - writer.transactionid::text::bigint + (1::bigint << 31)) % (1::bigint << 32)
               - (1::bigint << 31))))
      FROM (SELECT {_NEXT} AS next) AS present
      LEFT JOIN (
           pg_locks AS held
           JOIN pg_locks AS writer
             ON writer.virtualtransaction = held.virtualtransaction AND writer.locktype = 'transactionid'
            AND writer.mode = 'ExclusiveLock' AND writer.granted
           )
        ON held.locktype = 'relation' AND held.relation = 'orders_event'::regclass AND held.mode = 'RowExclusiveLock'
       AND held.granted AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     GROUP BY present.next
"""


_LOOK = f"""
    SELECT settled.position, epoch.number, epoch.cluster, epoch.cluster = {CLUSTER}
      FROM ({_SETTLED}) AS settled (position)
      LEFT JOIN orders_feedepoch AS epoch ON true
"""


class Epoch(NamedTuple):
    """A time in which positions follow one another without a break. A cursor of another epoch says nothing."""

    number: int
    cluster: str


class Mark(NamedTuple):
    """A position below which all events are settled: a later statement sees them, and no other will come there. And the
    epoch to which it belongs."""

    position: int
    epoch: Epoch


def look() -> Mark:
    """How far the feed is settled now, in the present epoch. That one begins here if the database was restored, or
    another server has taken over."""
    position, number, cluster, is_present = fetch_frequent(_LOOK)[0]
    if not is_present:
        begin_epoch()
        return look()
    return Mark(position, Epoch(number, cluster))


def advance() -> None:
    """Uses up a transaction's number. The last events before a quiet time may have the next number themselves, and are
    settled when it is given away."""
    fetch("SELECT pg_current_xact_id()")


def epoch() -> Epoch:
    """The present epoch."""
    return look().epoch


def begin_epoch() -> None:
    """Begins an epoch if the server is another than that of the present one.

    It waits for the transactions that write events, which may last some seconds, and holds others up meanwhile: none of
    them may go on with the number of the epoch that is over.
    """
    with transaction.atomic():
        run("LOCK TABLE orders_event IN SHARE ROW EXCLUSIVE MODE")
        run(
            f"""
            INSERT INTO orders_feedepoch AS epoch (id, number, cluster)
            VALUES (1, 1, {CLUSTER})
                ON CONFLICT (id) DO UPDATE
               SET number = epoch.number + 1, cluster = EXCLUDED.cluster, began_at = clock_timestamp()
             WHERE epoch.cluster <> EXCLUDED.cluster
            """
        )
