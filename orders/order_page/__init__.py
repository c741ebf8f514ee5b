"""The page of an order of any kind, for its customer: a confirmation and a tracker under one URL.

A kind's own templates replace the general ones (`OrderKind.templates`).
"""
