"""The change feed: where its numbers come from. The changes themselves are `Event` rows with a position."""

from django.db import models
from django.db.models.functions import Now


class FeedEpoch(models.Model):
    """The one row that says since when positions of the feed follow one another without a break.

    `orders.engine.state_store.feed` writes it, and begins another epoch once the database has been restored or another
    server has taken over.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    number = models.PositiveSmallIntegerField()
    cluster = models.CharField(
        max_length=60, help_text="the numbers of the server, its timeline, the database and the table"
    )
    began_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"epoch {self.number}"
