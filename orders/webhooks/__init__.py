"""Clients' webhooks: what happens to their orders is posted to a url of theirs, order per order, at least once."""
