"""The web without live updates and waits, for a WSGI server: `gunicorn --threads 32 sasweb.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
os.environ.setdefault("DATABASE_POOL", "1")

application = get_wsgi_application()
# By name, because it can only be imported now that Django is set up.
import_string("orders.engine.runtime.statements.prepare_frequent_statements")()
import_string("orders.services.request_log.REQUESTS").start()
