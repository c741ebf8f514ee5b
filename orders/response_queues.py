"""What a submitting application may do with its own response queue (Q2); reading it is in `orders.selectors`."""

from orders.models import StatusMessage


def acknowledge(*, queue: str, message_id: int) -> bool:
    """Deletes a message that its application has dealt with; False if the queue has no such message."""
    deleted, _ = StatusMessage.objects.filter(queue=queue, id=message_id).delete()
    return deleted > 0
