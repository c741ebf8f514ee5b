"""What people may do. Each act is one transaction and returns what happened."""
