"""Sets up Django when it is imported, which must happen before the project's own modules are."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
django.setup()
