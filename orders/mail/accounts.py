"""The mails about accounts, sent by jobs: to look up whether there is an account takes time that nobody waits for."""

import time

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlencode, urlsafe_base64_encode

from orders.access import sign_up_links
from orders.access.sign_up_links import SignUp
from sasweb import mail_server as mail

log = structlog.get_logger()

PAUSES = (1.0, 5.0, 20.0)
"""Seconds before another try, when the mail server does not take a mail."""


def send_sign_up(email: str, site: str, following: str, language: str) -> None:
    """Tells the owner of an address how to finish signing up; or, if she did so long ago, how to sign in."""
    with translation.override(language):
        if any(_accounts(email)):
            query = f"?{urlencode({'next': following})}" if following else ""
            links = {
                "sign_in": site + reverse("account:sign-in") + query,
                "forgotten": site + reverse("account:forgotten"),
            }
            _send(email, "have_account", links)
        else:
            token = sign_up_links.make_token(SignUp(email=email, next_path=following))
            _send(email, "sign_up", {"link": site + reverse("account:finish", args=[token])})


def send_new_password(email: str, site: str, language: str) -> None:
    """Sends a link with which a new password can be set, to the owner of each account of this address."""
    with translation.override(language):
        for user in _accounts(email):
            if user.is_active and user.has_usable_password():
                key = urlsafe_base64_encode(force_bytes(user.pk))
                link = reverse("account:reset", args=[key, default_token_generator.make_token(user)])
                _send(user.email or email, "new_password", {"link": site + link})


def _accounts(email: str) -> list[User]:
    """The accounts of an address. Compared again here: the database takes some letters of other alphabets for ours."""
    found = User.objects.filter(Q(username=email) | Q(email__iexact=email))
    return [user for user in found if email in (user.username, user.email.lower())]


def _send(to: str, template: str, context: dict[str, str]) -> None:
    text = render_to_string(f"account/mail/{template}.txt", context)
    subject, _, body = text.strip().partition("\n")
    for pause in (*PAUSES, None):
        try:
            with mail.connect(settings.CONFIG.email_url) as connection:
                EmailMessage(
                    subject, body.strip() + "\n", settings.CONFIG.email_from, [to], connection=connection
                ).send()
        except OSError as error:
            log.warning("mail not sent", action="mail", template=template, error=str(error))
            if pause is None:
                raise
            time.sleep(pause)
        else:
            log.info("mail sent", action="mail", template=template)
            return
