"""What people may ask for. Each act is one transaction and says what happened."""
