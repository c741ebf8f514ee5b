"""The counts behind the limits of how often one client may do something."""

from django.db import models


class Bucket(models.Model):
    """A token bucket: how soon one subject of one limit may go on. `orders.access.limits` writes it.

    The table is unlogged, which makes it cheap: after a crash of the server it is empty, and all buckets are full.
    """

    key = models.CharField(
        max_length=100, primary_key=True, help_text="the limit, and a keyed hash of the subject"
    )
    full_at = models.DateTimeField(help_text="when it is full again, if nothing more is taken")

    def __str__(self) -> str:
        return self.key
