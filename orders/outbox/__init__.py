"""Emails that are not steps of a workflow, and alerts: what they say, and the queue that sends them."""
