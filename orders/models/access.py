"""What lets programs in: the tokens of the REST API."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from orders.vocabulary import TokenScope

USABLE_AT_ONCE = """
    account.is_active AND token.expires_at > %(now)s::timestamptz
    AND token.last_used_at > %(noted_since)s::timestamptz AND token.version = ANY (%(api_versions)s::text[])
"""
"""Whether a `token` of an `account` may be used, its use has been noted lately, and it is pinned to one of these
versions of the API: then nothing more has to be found out, or written, before its request is answered."""


class ApiToken(models.Model):
    """A token of the REST API. The token itself is shown once and only its hash is stored.

    It may do what its scopes and its account allow. A row is deleted when the token is revoked. Only
    `orders.access.api_tokens` writes it.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    label = models.CharField(max_length=60, blank=True, help_text="what it is for")
    beginning = models.CharField(max_length=12, help_text="its first characters, to recognise it by")
    digest = models.CharField(max_length=64, unique=True, help_text="its SHA-256")
    scopes = ArrayField(models.CharField(max_length=12))
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=120)
    expires_at = models.DateTimeField()
    version = models.CharField(
        max_length=10,
        db_default="2026-11-26",
        help_text="of the API, which answers it unless it names another",
    )
    replaced_by = models.CharField(
        max_length=12, blank=True, db_default="", help_text="how the token begins that replaces this one"
    )
    last_used_at = models.DateTimeField(null=True, help_text="to the minute")

    has_successor = False
    """Not stored: whether the token that replaces this one is still there."""

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=[scope.value for scope in TokenScope]),
                name="token_scopes_are_known",
            ),
            models.CheckConstraint(
                condition=Q(scopes__contains=[TokenScope.READ.value]), name="every_token_may_read"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="a_token_expires_after_it_is_created"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.beginning}…"
