"""What clients have asked of the REST API: acts, and whatever was refused."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models


class LoggedRequest(models.Model):
    """A request of a client, without its body, its query and its token. `orders.services.request_log` writes it.

    The account's row is not checked, so that a batch of rows never fails for one of them.
    """

    id = models.BigAutoField(primary_key=True)
    request_id = models.CharField(
        max_length=64,
    )
    customer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    at = models.DateTimeField(help_text="when it began, by the web's clock")
    method = models.CharField(max_length=10)
    path = models.CharField(max_length=200, blank=True, help_text="empty if there is no such url")
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=40, blank=True, help_text="of the problem")
    order_ids = ArrayField(models.UUIDField(), help_text="the orders that it was about")
    token = models.CharField(max_length=12, help_text="the token's first characters")
    milliseconds = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["customer", "-id"], name="request_by_customer"),
            models.Index(fields=["request_id"], name="request_by_request_id"),
            GinIndex(fields=["order_ids"], name="request_by_order"),
        ]

    def __str__(self) -> str:
        return self.request_id
