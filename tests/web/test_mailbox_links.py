"""In a demonstration the pages that say "check your email" lead to the sandbox's mailbox, and nowhere else do they."""

from dataclasses import replace

import pytest
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db

LINK = 'href="http://127.0.0.1:9123/_mail/'
SANDBOX = {"sandbox_bind": "0.0.0.0:9123", "email_url": "smtp://0.0.0.0:9124"}


def pages(client: Client) -> list[str]:
    """The page after a sign-up and after a forgotten password, and the one after an order was looked for."""
    order = {"number": "01890a5d-ac96-774b-bcce-b302099a8057", "email": "ada@example.com"}
    return [
        client.post(path, data, follow=True).content.decode()
        for path, data in (
            ("/account/sign-up/", {"email": "new@example.com"}),
            ("/account/forgotten/", {"email": "ada@example.com"}),
            ("/orders/find/", order),
        )
    ]


def test_a_demonstration_leads_from_the_page_to_the_email(client: Client, settings: Settings) -> None:
    settings.CONFIG = replace(settings.CONFIG, debug=True, **SANDBOX)
    sign_up, forgotten, find_order = pages(client)
    assert f'{LINK}?to=new%40example.com"' in sign_up
    assert f'{LINK}?to=ada%40example.com"' in forgotten
    assert f'{LINK}"' in find_order


@pytest.mark.parametrize(
    "changes",
    [{"debug": False, **SANDBOX}, {"debug": True, **SANDBOX, "email_url": "smtp://mail.example.com:25"}],
)
def test_nothing_leads_there_in_production_or_when_emails_go_elsewhere(
    client: Client, settings: Settings, changes: dict[str, object]
) -> None:
    settings.CONFIG = replace(settings.CONFIG, **changes)
    for page in pages(client):
        assert "Check your email" in page
        assert "_mail" not in page
