"""What operators may ask for. Every act is in the audit log."""
