"""The emails about accounts.

The jobs process looks the account up when it composes the email, so neither the answer to a request nor the time that
it takes reveals whether there is one.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.encoding import force_bytes
from django.utils.http import urlencode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from orders.access import sign_up_links
from orders.access.public_urls import public_url
from orders.access.sign_up_links import SignUp
from orders.emails.letter import Block, Button, Heading, Note, Paragraph
from orders.models import OutgoingMessage
from orders.outbox.content import Email, email_of
from orders.outbox.letters import letter_of, sender_name
from orders.vocabulary import MessageKind, MessageState


def compose_sign_up(message: OutgoingMessage) -> list[Email]:
    """Tells the owner of an email address how to finish signing up or, if they did so before, how to sign in.

    Somebody without an account, who may never have asked for it, gets it once while its link is valid.
    """
    email = message.recipient
    following = message.arguments.get("following", "")
    if any(_accounts(email)):
        query = f"?{urlencode({'next': following})}" if following else ""
        return [_have_account(email, sign_in=public_url("account:sign-in") + query)]
    if _has_link(message):
        return []
    token = sign_up_links.make_token(SignUp(email=email, next_path=following))
    return [_sign_up(email, link=public_url("account:finish", token))]


def compose_new_password(message: OutgoingMessage) -> list[Email]:
    """A link to set a new password, for each account of this email address that can sign in with one."""
    return [
        _new_password(user.email or message.recipient, link=_reset_link(user))
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


def _have_account(email: str, *, sign_in: str) -> Email:
    shop = sender_name()
    blocks: list[Block] = [
        Heading(_("You already have an account")),
        Paragraph(
            _(
                "Someone, probably you, tried to sign up for {shop} with this email address. You already have an"
                " account: sign in with your password."
            ).format(shop=shop)
        ),
        Button(_("Sign in"), sign_in),
        Paragraph(_("If you have forgotten your password, set a new one.")),
        Button(_("Set a new password"), public_url("account:forgotten")),
        Note(_("If this wasn’t you, you can ignore this email.")),
    ]
    return _email(email, _("Your {shop} account").format(shop=shop), blocks)


def _sign_up(email: str, *, link: str) -> Email:
    shop = sender_name()
    blocks: list[Block] = [
        Heading(_("Choose a password")),
        Paragraph(
            _(
                "Someone, probably you, asked to sign up for {shop} with this email address. To begin, choose"
                " a password."
            ).format(shop=shop)
        ),
        Button(_("Choose a password"), link),
        Paragraph(_("The link works for one day.")),
        Note(_("If this wasn’t you, you can ignore this email: without the link, no account is created.")),
    ]
    return _email(email, _("Your {shop} account").format(shop=shop), blocks)


def _new_password(email: str, *, link: str) -> Email:
    shop = sender_name()
    blocks: list[Block] = [
        Heading(_("Set a new password")),
        Paragraph(
            _("Someone, probably you, asked to set a new password for your {shop} account.").format(shop=shop)
        ),
        Button(_("Set a new password"), link),
        Paragraph(_("The link works once and expires in one hour.")),
        Note(_("If this wasn’t you, you can ignore this email: your password stays as it is.")),
    ]
    return _email(email, _("Set a new password for {shop}").format(shop=shop), blocks)


def _email(recipient: str, subject: str, blocks: Sequence[Block]) -> Email:
    return email_of(letter_of(subject, blocks), recipient=recipient)
