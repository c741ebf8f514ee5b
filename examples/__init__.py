"""Businesses written only with what is public, each one an example to start from."""
