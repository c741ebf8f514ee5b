"""The channels: the one door to the messages between the roles (C5, S1, Q3).

A message is a row, written in the transaction of the change of state that it follows from, and deleted in the
transaction of the change that follows from it. Nothing is sent twice and nothing is lost, whichever process dies.
"""
