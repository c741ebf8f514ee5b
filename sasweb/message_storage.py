"""Where a message waits for the next page: in a cookie whose name is a setting, or in the session if it is long."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class MessageCookie(CookieStorage):
    """Django's, under a name that no other host and no page over plain http can set: `__Host-…`."""

    cookie_name = settings.MESSAGES_COOKIE_NAME


class MessageStorage(FallbackStorage):
    """`MESSAGE_STORAGE`."""

    storage_classes = (MessageCookie, SessionStorage)
