"""The operators' commands, as they are called from a shell."""
