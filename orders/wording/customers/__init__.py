"""What customers read of their orders, of every kind. Pure: the same order and the same `now` give the same words."""
