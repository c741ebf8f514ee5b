"""The mails that are not steps of a workflow."""
