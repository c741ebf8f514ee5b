"""What operators may do. Every act is recorded in the audit log."""
