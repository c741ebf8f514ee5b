"""Importing this readies Django: to be imported before the project's own modules."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
django.setup()
