"""The steps that a customer can do something about. Pure."""

POINT_OF_NO_RETURN = "capture-payment"
"""The step whose dispatch ends a customer's right to cancel: from then on the money may have been taken."""
PAYMENT = "authorise-payment"
"""The step that a customer can resolve by paying another way."""
