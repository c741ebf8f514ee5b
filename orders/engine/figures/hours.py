"""What became of orders in one hour: the sum of its minutes."""

from datetime import datetime, timedelta

from orders.engine.runtime.sql import run

HOUR = timedelta(hours=1)


def write_hours(*, since: datetime, until: datetime) -> None:
    """Writes the hours in between that have measured minutes, and have not been written before.

    Both times begin an hour. Nobody may write minutes of these hours any more.
    """
    bounds = {"since": since, "until": until}
    run(
        """
        INSERT INTO orders_orderfigures (span, began, minutes, placed, processed, failed, cancelled, took, unfinished)
        SELECT 'hour', hour.began, count(*), sum(placed), sum(processed), sum(failed), sum(cancelled),
               (SELECT array_agg(bucket.counted ORDER BY bucket.place)
                  FROM (SELECT place, sum(count) AS counted
                          FROM orders_orderfigures AS each,
                               unnest(each.took) WITH ORDINALITY AS age (count, place)
                         WHERE each.span = 'minute' AND each.began >= hour.began
                           AND each.began < hour.began + interval '1 hour'
                         GROUP BY place) AS bucket),
               (SELECT last.unfinished FROM orders_orderfigures AS last
                 WHERE last.span = 'minute' AND last.began >= hour.began
                   AND last.began < hour.began + interval '1 hour'
                 ORDER BY last.began DESC LIMIT 1)
          FROM generate_series(%(since)s::timestamptz, %(until)s::timestamptz - interval '1 hour', '1 hour')
               AS hour (began)
          JOIN orders_orderfigures AS minute
            ON minute.span = 'minute' AND minute.began >= hour.began
               AND minute.began < hour.began + interval '1 hour'
         WHERE NOT EXISTS (SELECT FROM orders_orderfigures AS done
                            WHERE done.span = 'hour' AND done.began = hour.began)
         GROUP BY hour.began
            ON CONFLICT (span, began) DO NOTHING
        """,
        bounds,
    )
    run(
        """
        INSERT INTO orders_agentfigures (span, began, agent, calls, errors, buckets)
        SELECT 'hour', minute.began - interval '59 minutes', minute.agent, minute.calls, minute.errors, minute.buckets
          FROM generate_series(%(since)s::timestamptz, %(until)s::timestamptz - interval '1 hour', '1 hour')
               AS hour (began)
          JOIN orders_agentfigures AS minute
            ON minute.span = 'minute' AND minute.began = hour.began + interval '59 minutes'
            ON CONFLICT (span, began, agent) DO NOTHING
        """,
        bounds,
    )
    run(
        """
        INSERT INTO orders_causefigures (span, began, group_id, opened)
        SELECT 'hour', hour.began, minute.group_id, sum(minute.opened)
          FROM generate_series(%(since)s::timestamptz, %(until)s::timestamptz - interval '1 hour', '1 hour')
               AS hour (began)
          JOIN orders_causefigures AS minute
            ON minute.span = 'minute' AND minute.began >= hour.began
               AND minute.began < hour.began + interval '1 hour'
         GROUP BY hour.began, minute.group_id
            ON CONFLICT (group_id, span, began) DO NOTHING
        """,
        bounds,
    )
