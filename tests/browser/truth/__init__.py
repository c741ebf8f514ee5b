"""The oracle of `test_truth`: what customers read, and whether it was true when they read it.

    moments    records what every page of an order says, when the server read the order, and until when it stood there
    letters    takes the emails that arrived apart, into the same kind of record
    facts      what was so at a moment, from the remote services' ledgers, the order's history and what the test did
    *_claims   for each sentence that a customer may read, when it is true
    ordered    the lines of an order and the rows of its sum, from its data
    oracle     finds the sentence in the tables, and asks whether it held
    mailboxes  which emails must have arrived by the end
    shop       the running shop with short time limits, and when which fault was set
    customers  what customers do while there is a fault
    walks      for each fault, which orders meet it

A ledger only grows and has the time of each effect, so it says what was so at any moment. Everything runs on one
machine with one clock. A page is judged for the time between the server's reading of the order and its arrival in the
browser: both are moments of the same read, and what it says must have been true at one of them. A page that stays
open is judged again: whenever something has happened, it has a few seconds in which what it says must become true.
"""
