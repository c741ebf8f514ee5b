"""What operators read: selectors for commands and, later, the console. Nothing here writes or locks.

`standing` says in what state an order truly is, `history` where its time went; both are pure. `listing`, `detail` and
`health` read the database, each function with a fixed number of queries. `now` is passed in: the database's clock.
"""
