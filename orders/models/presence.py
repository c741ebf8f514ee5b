"""Who is looking at an order or a cause in the console, and who is about to act on it."""

from django.db import models
from django.db.models.functions import Now


class Presence(models.Model):
    """A person at a page. `act` names the page of an act by its url; it is empty for a page that is only read.

    It holds for a few seconds after `seen_at`. Nothing is locked by it: `orders.services.operators.presence` writes it
    so that people know of each other. See docs/adr/0071.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, help_text="order or group")
    target = models.CharField(max_length=40, help_text="the id of the order or the group")
    act = models.CharField(max_length=40, blank=True)
    operator = models.CharField(max_length=200)
    since = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "target", "operator", "act"], name="a_person_is_at_a_page_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operator} at {self.kind} {self.target} {self.act}".strip()
