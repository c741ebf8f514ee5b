"""The web without live updates and waits, for a WSGI server: `gunicorn --threads 32 sasweb.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
os.environ.setdefault("DATABASE_POOL", "1")

application = get_wsgi_application()
