"""The supervisor: the role, its remedies and its leadership."""
