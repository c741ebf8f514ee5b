"""What one shift of operators leaves the next: the notes of those who left, and what to do about an error's code."""

from django.db import models
from django.db.models.functions import Now


class HandoverNote(models.Model):
    """What somebody who left a shift wrote for the next one. `since` is when the shift that it is about began.

    Only `orders.services.operators.handover` adds notes. Nobody changes one.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    by = models.CharField(max_length=120)
    since = models.DateTimeField()
    text = models.TextField()

    def __str__(self) -> str:
        return f"{self.by}: {self.text}"


class OwnRunbook(models.Model):
    """What this installation says about an error's code, beside the text that comes with the product.

    `orders.services.operators.runbooks` writes it. The audit log has the earlier texts.
    """

    code = models.CharField(max_length=60, primary_key=True)
    text = models.TextField()
    by = models.CharField(max_length=120)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.code
