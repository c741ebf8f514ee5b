"""The scheduler: the role, and the decisions of one order's pass."""
