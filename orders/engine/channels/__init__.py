"""The channels: the one door to the messages between the roles (C5, S1, Q3).

A message is a row. It is written in the same transaction as the change of state that it follows from, and deleted in
the same transaction as the change that follows from it. So no message is lost or taken twice, whichever process dies.
"""
