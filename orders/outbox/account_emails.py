"""The emails about accounts.

The jobs process looks the account up when it composes the email, so neither the answer to a request nor the time that
it takes reveals whether there is one.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.template.loader import render_to_string
from django.utils.encoding import force_bytes
from django.utils.http import urlencode, urlsafe_base64_encode

from orders.access import sign_up_links
from orders.access.public_urls import public_url
from orders.access.sign_up_links import SignUp
from orders.models import OutgoingMessage
from orders.outbox.content import Email
from orders.vocabulary import MessageKind, MessageState


def compose_sign_up(message: OutgoingMessage) -> list[Email]:
    """Tells the owner of an email address how to finish signing up or, if they did so before, how to sign in.

    Somebody without an account, who may never have asked for it, gets it once while its link is valid.
    """
    email = message.recipient
    following = message.arguments.get("following", "")
    if any(_accounts(email)):
        query = f"?{urlencode({'next': following})}" if following else ""
        links = {
            "sign_in": public_url("account:sign-in") + query,
            "forgotten": public_url("account:forgotten"),
        }
        return [_email(email, "have_account", links)]
    if _has_link(message):
        return []
    token = sign_up_links.make_token(SignUp(email=email, next_path=following))
    return [_email(email, "sign_up", {"link": public_url("account:finish", token)})]


def compose_new_password(message: OutgoingMessage) -> list[Email]:
    """A link to set a new password, for each account of this email address that can sign in with one."""
    return [
        _email(
            user.email or message.recipient,
            "new_password",
            {"link": _reset_link(user)},
        )
        for user in _accounts(message.recipient)
        if user.is_active and user.has_usable_password()
    ]


def _has_link(message: OutgoingMessage) -> bool:
    """Whether an email to this address has a link that is still valid, or an earlier one is on its way."""
    has_arrived = Q(state=MessageState.SENT, ended_at__gt=Now() - timedelta(seconds=sign_up_links.MAX_AGE))
    is_coming = Q(state__in=[MessageState.QUEUED, MessageState.SENDING], pk__lt=message.pk)
    return (
        OutgoingMessage.objects.alias(address=Lower("recipient"))
        .filter(has_arrived | is_coming, address=message.recipient.lower(), kind=MessageKind.SIGN_UP)
        .exclude(pk=message.pk)
        .exists()
    )


def _reset_link(user: User) -> str:
    key = urlsafe_base64_encode(force_bytes(user.pk))
    return public_url("account:reset", key, default_token_generator.make_token(user))


def _accounts(email: str) -> list[User]:
    """The accounts of an email address. Compared again here, because the database treats some letters of other
    alphabets like ASCII letters."""
    users = User.objects.filter(Q(username=email) | Q(email__iexact=email)).order_by("pk")
    return [user for user in users if email in (user.username, user.email.lower())]


def _email(recipient: str, template: str, context: dict[str, str]) -> Email:
    """The template's first line is the subject."""
    text = render_to_string(f"account/mail/{template}.txt", context)
    subject, _, body = text.strip().partition("\n")
    return Email(recipient=recipient, subject=subject, body=body.strip() + "\n")
