"""What operators read: the same selectors for the console, the commands and the API. Nothing here writes or locks.

`standing`, `history`, `timeline` and `filters` are pure. The others read the database, each function with a fixed
number of queries, and count no further than a bound. `now` is passed in: it is the database's clock.
"""
