"""The demonstration: a catalogue to buy from, accounts to sign in with, and an API token."""
