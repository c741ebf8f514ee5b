"""What the project's settings take from the laboratory."""

REQUIRED_VARIABLES = ("LAB_INSTRUMENTS_URL", "LAB_REPORTS_URL")
"""What must be set in production: the stand-in obeys everybody, and anybody on the machine could listen at its port."""
