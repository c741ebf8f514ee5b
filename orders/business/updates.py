"""What customers of an order of any kind may be told of it by email, besides what its workflow sends them itself."""

from enum import StrEnum


class OrderUpdate(StrEnum):
    """What has become of an order that its customer is told by email (`MessageKind.ORDER_UPDATE`)."""

    DECLINED = "declined"
    """It waits for her to change something, such as how she pays."""
    LATE = "late"
    """It is not done by when it was promised."""
    STOPPED = "stopped"
    """It is held up, and needs an operator."""
    CANCEL_STUCK = "cancel_stuck"
    """Its cancellation is held up, and needs an operator."""
    CANCELLED = "cancelled"
