"""Live updates: streams that tell a browser when an order that it shows has changed."""
