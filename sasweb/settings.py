"""Django's settings. What may differ between two installations is in `sasweb.config`."""

import sys
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from sasweb import config

try:
    CONFIG = config.read()
except config.ConfigError as error:
    sys.exit(f"sasweb: {error}")

BASE_DIR = config.PROJECT_DIR
SECRET_KEY = CONFIG.secret_key
DEBUG = CONFIG.debug
ALLOWED_HOSTS = CONFIG.allowed_hosts
ROOT_URLCONF = "sasweb.urls"
WSGI_APPLICATION = "sasweb.wsgi.application"
ASGI_APPLICATION = "sasweb.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_q",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "orders",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def database(url: str) -> dict[str, Any]:
    """Django's form of a PostgreSQL URL, with the time-outs that keep a stopped process from holding its locks.

    A process that is stopped inside a transaction loses its locks after 5 s (docs/architecture.md, "Nobody holds a
    lock for ever"); `migrate` lifts the limit for itself. The keepalives find a dead server within 15 s.
    """
    parts: dict[str, Any] = dict(conninfo_to_dict(url))
    name, user, password = parts.pop("dbname", ""), parts.pop("user", ""), parts.pop("password", "")
    host, port = parts.pop("host", ""), parts.pop("port", "")
    migrating = len(sys.argv) > 1 and sys.argv[1] in {"migrate", "sqlmigrate", "makemigrations", "test"}
    limits = "" if migrating else "-c transaction_timeout=5s -c idle_in_transaction_session_timeout=5s"
    parts["options"] = f"{parts.get('options', '')} {limits}".strip()
    parts.setdefault("connect_timeout", 5)
    parts.update(keepalives_idle=5, keepalives_interval=5, keepalives_count=2)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": parts,
    }


DATABASES = {"default": database(CONFIG.database_url)}

# The periodic jobs. Traps, each seen: no connection pool in the cluster (it forks); a redelivered job must be harmless
# (retry > timeout > the longest job); catch_up off, or an hour's outage starts sixty shifts at once.
Q_CLUSTER = {
    "name": "sasweb",
    "orm": "default",
    "workers": 6,
    "bulk": 1,
    "poll": 0.5,
    "timeout": 170,
    "retry": 200,
    "max_attempts": 1,
    "ack_failures": True,
    "catch_up": False,
    "save_limit": 250,
    "label": "Jobs",
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
