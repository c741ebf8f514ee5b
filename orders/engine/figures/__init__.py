"""Figures of orders, agents and causes, minute by minute and hour by hour, which the leading supervisor takes."""
