"""Emails to customers: what they are made of, how they look, and how they are written for the wire.

A `Letter` is a list of blocks. Its HTML and its plain text are made of the same blocks, so they cannot differ. Nothing
here knows a business, the database or Django, so an agent may write emails, too.
"""
