"""The operators' commands, called as from a shell."""
