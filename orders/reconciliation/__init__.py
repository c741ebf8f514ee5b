"""Reconciles the database with the remote services: what does either side know that the other does not (F35)?

After a restore the database is older than the services, or a service that lost its own data is older than the
database. `check.reconcile` compares them in both directions, through the agents, and changes nothing:

- a service that can list its effects (`list_effects`) is compared with the orders: effects of no order, effects that
  their order does not count, effects reversed on one side only;
- a service that can be asked (`inquire`) is asked about every step that is completed here.

A busy system raises no false alarm, because what is read last cannot be older than what is read first. An order is
inserted, and its step dispatched, in transactions that end before its agent calls; so the database, read after the
listing, knows every effect that is listed. Steps are completed after their effects; so a service, asked after that is
read, knows them. What looks wrong for all that is looked at once more, on both sides: in between, an operator may have
acted, or a compensation may have come through.
"""
