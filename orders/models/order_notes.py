"""What operators note about single orders, for one another."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class OrderNote(models.Model):
    """An operator's note on an order, or on a submission that may become one.

    It is no `Event`, because customers and clients read those. See docs/adr/0074. `order_id` is no foreign key: the
    note stays where it is when its order moves to the archive, and goes when its order is deleted. Only
    `orders.services.operators.order_notes` adds notes. Nobody changes one.
    """

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField()
    at = models.DateTimeField(db_default=Now())
    by = models.CharField(max_length=120)
    text = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["order_id", "-id"], name="note_by_order")]
        constraints = [models.CheckConstraint(condition=~Q(text=""), name="a_note_has_text")]

    def __str__(self) -> str:
        return f"{self.by}: {self.text}"
