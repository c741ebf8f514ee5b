"""The emails that are not steps of a workflow: what they say, and the outbox that sends them."""
