"""What people may see. Nothing here writes or locks."""
