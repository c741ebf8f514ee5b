"""Writes the figures of a minute at once, which the supervisor's leader reads slice by slice."""

from datetime import datetime

from orders.engine.figures.minutes import MinuteReading


def write_minute(began: datetime) -> bool:
    """Writes the figures of the minute that began then; returns False if they have been written before."""
    reading = MinuteReading(began)
    while not reading.is_complete:
        reading.read_slice()
    return reading.write()
