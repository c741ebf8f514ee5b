"""A language in which every translated sentence is ⟦marked⟧: what customers read outside of marks is untranslated."""

from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage
from html import escape
from pathlib import Path
from typing import Any

import django
import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo, write_mo
from django.conf import settings as project_settings
from django.utils import translation
from django.utils.translation import trans_real

from orders.business.updates import OrderUpdate
from orders.engine.contracts import Json
from orders.fields import countries
from orders.models import Order, OrderProcess
from orders.outbox import queue
from orders.outbox.order_link_emails import IS_NEW
from orders.services.accounts import ask_for_new_password, ask_to_sign_up
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.letters import OrderEmail, compose_cancellation, compose_confirmation
from orders.shop.models import Product
from orders.vocabulary import MessageKind
from sasweb.catalogues import sentences
from sasweb.languages import LANGUAGES
from tests.support.mailbox import mailbox
from tests.support.order_bodies import DELFT, EMAIL, LONDON
from tests.support.people import PASSWORD, person
from tests.unit.test_mail_text import ENCLOSURES, SENDER, as_received, request
from tests.web.customer_pages import ORDERS, every_page
from tests.web.readable import unmarked
from tests.web.shopping import shop_order

pytestmark = pytest.mark.django_db
MARKED = "x-marked"
PEOPLE = {EMAIL, *LONDON.values(), *DELFT.values(), "Ada", "nobody@example.com", "ada@", "TRACK-1"}
"""What customers and services have written."""


def catalogue_of_marks() -> Catalog:
    """Every sentence of ours, and every one of Django's that is translated, in marks."""
    marks = Catalog(locale="en", fuzzy=False)
    for message in [*_sentences_of_django(), *sentences()]:
        if message.id:
            ids = [message.id] if isinstance(message.id, str) else list(message.id)
            strings = [f"⟦{text}⟧" for text in ids]
            marks.add(
                message.id, strings[0] if isinstance(message.id, str) else strings, context=message.context
            )
    return marks


def _sentences_of_django() -> Iterator[Any]:
    for path in sorted(Path(django.__file__).parent.glob("**/locale/hu/LC_MESSAGES/django.mo")):
        with path.open("rb") as file:
            for message in read_mo(file):
                if isinstance(message.context, bytes):  # Babel leaves it so
                    message.context = message.context.decode()
                yield message


@pytest.fixture(autouse=True)
def marks(tmp_path: Path, settings: Any) -> Iterator[None]:
    """The language of marks, beside the others."""
    folder = tmp_path / translation.to_locale(MARKED) / "LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "django.mo").open("wb") as file:
        write_mo(file, catalogue_of_marks())
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [*project_settings.LANGUAGES, (MARKED, "Marked")]
    yield
    trans_real._translations.pop(MARKED, None)


@pytest.fixture
def data(db: None) -> set[str]:
    """What is no sentence: of the catalogue, of people, names of languages and countries, units, the shop's name."""
    load_catalogue()
    texts = {text for row in Product.objects.values_list("title", "artist", "description") for text in row}
    names = {project_settings.CONFIG.shop_name, project_settings.CONFIG.help_address, "Marked"}
    return texts | PEOPLE | names | set(LANGUAGES.values()) | {name for _, name in countries.choices()}


def test_every_sentence_on_the_pages_is_translated(data: set[str]) -> None:
    pages = list(every_page(MARKED))
    assert len(pages) > 80
    assert [page.name for page in pages if "⟦" not in page.html] == []
    assert [f"{page.name}: {text}" for page in pages for text in unmarked(page.html, data=data)] == []


EMAILS: Mapping[str, Callable[[], object]] = {
    "sign up": lambda: ask_to_sign_up(email="new@example.com", following="", language=MARKED),
    "sign up again": lambda: ask_to_sign_up(email="customer@example.com", following="", language=MARKED),
    "new password": lambda: ask_for_new_password(email="customer@example.com", language=MARKED),
    "a first email": lambda: post_link(shop_order(), IS_NEW),
    "a link": lambda: post_link(shop_order()),
    "declined": lambda: post_update(ORDERS["declined"](), OrderUpdate.DECLINED),
    "sold out": lambda: post_update(ORDERS["sold out"](), OrderUpdate.DECLINED),
    "late": lambda: post_update(ORDERS["late"](), OrderUpdate.LATE),
    "stopped": lambda: post_update(ORDERS["stopped"](), OrderUpdate.STOPPED),
}


def post_link(order: OrderProcess, *words: str) -> None:
    queue.post(
        kind=MessageKind.ORDER_LINK,
        recipient=EMAIL,
        order_id=order.order_id,
        arguments={"language": MARKED, **dict.fromkeys(words, True)},
    )


def post_update(order: OrderProcess, update: OrderUpdate) -> None:
    Order.objects.filter(pk=order.order_id).update(tells_customer=True)
    queue.post(
        kind=MessageKind.ORDER_UPDATE,
        recipient=EMAIL,
        order_id=order.order_id,
        arguments={"language": MARKED, "update": update},
    )


def unmarked_in(email: EmailMessage, data: set[str]) -> list[str]:
    """What an email says outside of marks, in its subject and as HTML. Its plain text is made of the same."""
    html = email.get_body(("html",))
    assert html is not None
    assert "⟦" in html.get_content()
    return [*unmarked(escape(str(email["Subject"])), data=data), *unmarked(html.get_content(), data=data)]


@pytest.mark.parametrize("name", EMAILS)
def test_every_sentence_in_an_email_is_translated(name: str, data: set[str], settings: Any) -> None:
    person("customer", "customer", password=PASSWORD)
    with mailbox(settings) as box:
        EMAILS[name]()
        (email,) = box.deliver()
    assert unmarked_in(email, data) == []


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
@pytest.mark.parametrize("results", [{}, {"create-shipment": {"tracking": "TRACK-1"}}])
def test_every_sentence_in_the_shops_own_emails_is_translated(
    compose: Callable[..., OrderEmail], results: dict[str, Json], data: set[str]
) -> None:
    step = request(language=MARKED, ship_to=LONDON, results=results)
    email = as_received(compose(step, sender=SENDER, enclosures=ENCLOSURES))
    assert unmarked_in(email, data | {SENDER.name, "Első nap"}) == []


def test_a_text_outside_of_marks_is_named_wherever_people_read_it() -> None:
    html = (
        "<title>Shop</title><h1>⟦Kept <b>whole</b>⟧, 3 × €4</h1><p lang=en>First Sun</p><script>let it</script>"
        "<img alt='⟦A picture⟧'><a aria-label='Close' href='#'>×</a><p>Lost <i>words</i></p>"
    )
    assert list(unmarked(html, data={"Shop"})) == ["Close", "Lost", "words"]
