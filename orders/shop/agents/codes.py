"""The codes with which the shop's services refuse what a customer can resolve."""

SOLD_OUT = "sold_out"
"""There is not enough of a product. The warehouse says in its detail of which, and how many are left."""
NOT_SERVED = "address_not_served"
"""The carrier does not deliver to the address. It may say in its detail to which country."""
