"""The steps that decide what a customer may still do. Pure."""

POINT_OF_NO_RETURN = "capture-payment"
"""Once this step has been dispatched, the customer can no longer cancel: the money may have been taken."""
PAYMENT = "authorise-payment"
"""The step that a customer can resolve by choosing another way to pay."""
