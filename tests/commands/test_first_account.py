"""The first account of an installation without the demonstration."""

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from tests.support.people import signed_in


@pytest.mark.django_db
def test_the_account_of_createsuperuser_may_use_console_and_admin_site() -> None:
    call_command("createsuperuser", interactive=False, username="ann", email="ann@example.org", verbosity=0)
    browser = signed_in(User.objects.get(username="ann"))
    pages = ("/console/", "/console/audit/", "/admin/auth/user/add/", "/admin/shop/product/add/")
    assert {page: browser.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
