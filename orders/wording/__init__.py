"""Sentences about orders and events, for pages, commands and mails."""
