"""The demonstration catalogue."""
