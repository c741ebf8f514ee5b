"""The laboratory's own table."""

from django.db import models
from django.db.models.functions import Now


class Sample(models.Model):
    """A sample that somebody has sent in. `code` is on its tube."""

    code = models.CharField(max_length=40, unique=True)
    batch = models.CharField(max_length=40)
    registered_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.code
