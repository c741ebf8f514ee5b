"""Django's settings. What may differ between installations is in `sasweb.config`."""

import os
import sys
from datetime import timedelta

from sasweb import config, database, languages, logs, mail_server, releases
from sasweb.environment import ConfigError
from sasweb.own_settings import OwnSettings

try:
    CONFIG = config.read()
except ConfigError as error:
    sys.exit(f"sasweb: {error}")

BASE_DIR = config.PROJECT_DIR
SECRET_KEY = CONFIG.secret_key
SECRET_KEY_FALLBACKS = [*CONFIG.secret_key_fallbacks]
DEBUG = CONFIG.debug
IS_DEMONSTRATION = DEBUG or CONFIG.drill
"""Whether the orders are not real ones: the sandbox stands in for the services, and takes faults from the console."""
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
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "orders",
    *CONFIG.businesses,
]
BUSINESSES = CONFIG.businesses
DEFAULT_WORKFLOW = CONFIG.default_workflow
OWN_SETTINGS = OwnSettings(BUSINESSES)

MIDDLEWARE = [
    "sasweb.middleware.request_id",
    "orders.api.versions.say_version",
    "orders.api.request_log.log_requests",
    "sasweb.middleware.security_headers",
    "django.middleware.security.SecurityMiddleware",
    "sasweb.middleware.known_methods",
    "orders.api.query_strings.readable_queries",
    "sasweb.middleware.no_nul",
    "sasweb.middleware.no_misspelt_api",
    "sasweb.middleware.probes",
    "orders.metrics.access.serve_metrics",
    "sasweb.middleware.no_strange_host",
    "sasweb.middleware.no_api_cookies",
    "sasweb.middleware.no_length_without_content",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "sasweb.languages.answer_in_language",
    "orders.access.unavailable.answer_outages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "orders.access.known_devices.KnownDevices",
    "orders.access.limited_requests.LimitedRequests",
    "django_otp.middleware.OTPMiddleware",
    "orders.access.sessions.OperatorSessions",
    "orders.console.signed_out.SignedOutForms",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "orders.access.second_factor.SecondFactor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "orders.access.unavailable.UnavailablePage",
    "axes.middleware.AxesMiddleware",
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
                *OWN_SETTINGS.all("CONTEXT_PROCESSORS"),
            ],
        },
    },
]


WEB_THREADS = 32
"""Threads of one web process. A request that waits holds none of them (`sasweb.holding`)."""

# DATABASE_POOL is set by sasweb.asgi and sasweb.wsgi. Everything else has one connection per process, or forks, which
# no pool survives.
_MIGRATING = {"migrate", "sqlmigrate", "makemigrations", "test", "grant_rights"}
_IS_MIGRATING = len(sys.argv) > 1 and sys.argv[1] in _MIGRATING
_MIGRATION_URL = CONFIG.migrate_database_url or CONFIG.listen_database_url or CONFIG.database_url
DATABASES = {
    "default": database.django_settings(
        _MIGRATION_URL if _IS_MIGRATING else CONFIG.database_url,
        is_pooled=os.environ.get("DATABASE_POOL") == "1",
        is_limited=not _IS_MIGRATING,
        has_pooler=bool(CONFIG.listen_database_url),
    )
}
LISTEN_PARAMETERS = database.parameters(CONFIG.listen_database_url) if CONFIG.listen_database_url else None
"""psycopg's parameters for listening, if that needs a connection past a pooler."""

# The periodic jobs, in two clusters with a queue each: `orders.jobs` says which job runs in which. Each of these traps
# has been met: a connection pool does not work in a cluster, which forks; a redelivered job must be harmless
# (retry > timeout > the longest job); with catch_up on, an hour's outage starts sixty shifts at once.
Q_CLUSTER = {
    "name": "sasweb",
    "orm": "default",
    "workers": 10,
    "ALT_CLUSTERS": {"supervision": {"workers": 6}},
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
    {"NAME": "orders.access.passwords.NotEasyToGuessValidator"},
    {"NAME": "orders.access.api_tokens.RevokesTokensValidator"},
]
PASSWORD_HASHERS = ["orders.access.password_hashing.PasswordHasher"]
PASSWORD_RESET_TIMEOUT = 3600
LOGIN_URL = OWN_SETTINGS.first("LOGIN_URL", "console:sign-in")
LOGIN_REDIRECT_URL = OWN_SETTINGS.first("LOGIN_REDIRECT_URL", "console:overview")

# Which limits (`sasweb.limits`) a request to a business's own page counts for (`orders.access.limited_requests`).
LIMITED_POSTS = OWN_SETTINGS.merged("LIMITED_POSTS")
LIMITED_SEARCHES = frozenset(OWN_SETTINGS.all("LIMITED_SEARCHES"))
# Which forms a page may send again after an outage, and what it then says (`orders.access.outage_page`).
REPEATED_POSTS = OWN_SETTINGS.merged("REPEATED_POSTS")

# Guessing: after ten wrong passwords an account is locked for the IP address that they came from, and for no other, so
# its owner elsewhere notices nothing. Emails without an account are locked in the same way (`orders.access.lockout`).
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "orders.access.lockout.NameLock",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "orders.access.lockout.read_username"
AXES_CLIENT_IP_CALLABLE = "orders.access.addresses.read_ip_address"
AXES_LOCKOUT_CALLABLE = "orders.access.lockout.show"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

# How long an operator's session lasts without a request and in all; how long any session lasts from signing in on
# (SESSION_COOKIE_AGE: from its last change on); and how long a second factor's code counts as recent for acts that give
# money back or concern many orders.
REQUIRE_SECOND_FACTOR = CONFIG.require_second_factor
OPERATOR_IDLE = timedelta(minutes=15)
OPERATOR_SESSION = timedelta(hours=8)
LONGEST_SESSION = timedelta(days=30)
SECOND_FACTOR_FRESH = timedelta(minutes=10)
OTP_TOTP_ISSUER = CONFIG.shop_name
CSRF_FAILURE_VIEW = "orders.console.guards.csrf_failure"

LANGUAGE_CODE = languages.SOURCE
LANGUAGES = list(languages.LANGUAGES.items())
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = int(timedelta(days=365).total_seconds())
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]

# Static files are served from the source folder. Once `collectstatic` has been run they are hashed, compressed and
# cached for ever.
COLLECTED = BASE_DIR / "staticfiles"
IS_COLLECTING = "collectstatic" in sys.argv[1:2]
HAS_COLLECTED = IS_COLLECTING or (not DEBUG and (COLLECTED / "staticfiles.json").is_file())
STATIC_URL = "/static/"
STATIC_ROOT = COLLECTED if HAS_COLLECTED else None
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static",) if folder.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if HAS_COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not HAS_COLLECTED
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
"""Bytes of a request's body. No page takes files."""
LARGER_BODIES = {"/api/v1/orders/batch": 768 * 1024}
"""What takes more, by its path (`sasweb.bodies`). The proxies in docs/proxy let 1 MB through."""

# Outside DEBUG a proxy in front serves the web over https. It also redirects from http and decides which other hosts
# HSTS covers.
SESSION_ENGINE = "orders.access.hashed_sessions"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_AGE = SESSION_COOKIE_AGE
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
DEVICE_COOKIE_NAME = "device"
MESSAGE_STORAGE = "sasweb.message_storage.MessageStorage"
MESSAGES_COOKIE_NAME = "messages"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = not IS_DEMONSTRATION
if not IS_DEMONSTRATION:
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    LANGUAGE_COOKIE_NAME = "__Host-language"
    DEVICE_COOKIE_NAME, MESSAGES_COOKIE_NAME = "__Host-device", "__Host-messages"
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "postgres.E005",  # of django.contrib.postgres we use fields and indexes only; the app asks for types on connecting
    "security.W005",  # HSTS for subdomains is not ours to decide
    "security.W008",  # the proxy redirects to https; doing so here would break probes over http
    "security.W021",  # HSTS preload is for the domain's owner to request
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["orders.api.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [
        "orders.api.scopes.MayUseScope",
        "orders.api.query_strings.ActsTakeNoQuery",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["orders.api.throttling.LimitThrottle"],
    "DEFAULT_PARSER_CLASSES": ["orders.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["orders.api.rendering.Renderer"],
    "DEFAULT_SCHEMA_CLASS": "orders.api.schema.ExactSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "orders.api.negotiation.Negotiation",
    "DEFAULT_METADATA_CLASS": "orders.api.negotiation.NoMetadata",
    "EXCEPTION_HANDLER": "orders.api.problems.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "sasweb orders",
    "VERSION": releases.version(BASE_DIR),
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": CONFIG.public_url}],
    "WEBHOOKS": [
        "orders.api.webhook_documentation.ORDER",
        "orders.api.webhook_documentation.ALERT",
        "orders.api.webhook_documentation.APPROVAL",
    ],
    "DESCRIPTION": "Place orders and follow them.",  # `orders.api.guide` adds how to begin
    "TAGS": [
        {"name": "orders", "description": "Place orders, follow them, and cancel them."},
        *OWN_SETTINGS.all("API_TAGS"),
        {"name": "changes", "description": "One feed of all that happens to your orders."},
        {
            "name": "response queues",
            "description": "Messages about your orders, if you would rather collect them than ask for each order.",
        },
        {"name": "requests", "description": "What you have asked, to find out what became of it."},
        {"name": "operators", "description": "What the console does. Needs an operator's token."},
        {
            "name": "callbacks",
            "description": "For remote services that answer a call later, not for clients.",
        },
        {
            "name": "webhook settings",
            "description": "Urls of yours to which everything that happens to your orders is posted.",
        },
        {"name": "webhooks", "description": "What we post to a url of yours, or of the operators."},
    ],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "orders.api.schema.say_null_plainly",
        "orders.api.schema.name_workflows",
        "orders.api.schema.add_problems",
        "orders.api.webhook_documentation.add_headers",
        "orders.api.rate_limits.describe_limits",
        "orders.api.versions.describe_versions",
        "orders.api.guide.add_guide",
    ],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "ActResult": "orders.api.enumerations.ACT_RESULTS",
        "Advice": "orders.api.enumerations.ADVICE",
        "AlertKind": "orders.api.enumerations.ALERT_KINDS",
        "ApprovalAct": "orders.api.enumerations.APPROVAL_ACTS",
        "ApprovalState": "orders.api.enumerations.APPROVAL_STATES",
        "BulkActionKind": "orders.api.enumerations.BULK_KINDS",
        "BulkActionState": "orders.api.enumerations.BULK_STATES",
        "BulkItemState": "orders.api.enumerations.BULK_ITEM_STATES",
        "CircuitState": "orders.api.enumerations.CIRCUIT_STATES",
        "DeliveryState": "orders.api.enumerations.DELIVERY_STATES",
        "DisabledReason": "orders.api.enumerations.DISABLED_REASONS",
        "EditableFieldType": "orders.api.enumerations.EDITABLE_FIELD_TYPES",
        "EventKind": "orders.api.enumerations.EVENT_KINDS",
        "Goal": "orders.api.enumerations.GOALS",
        "MessageReason": "orders.api.enumerations.MESSAGE_REASONS",
        "MessageResultWord": "orders.api.enumerations.MESSAGE_RESULTS",
        "NotificationChannel": "orders.api.enumerations.NOTIFICATION_CHANNELS",
        "NotificationKind": "orders.api.enumerations.NOTIFICATION_KINDS",
        "NotificationState": "orders.api.enumerations.NOTIFICATION_STATES",
        "OrderState": "orders.api.enumerations.ORDER_STATES",
        "Outcome": "orders.api.enumerations.OUTCOMES",
        "PendingActState": "orders.api.enumerations.PENDING_ACT_STATES",
        "Reason": "orders.api.enumerations.REASONS",
        "ResultFieldType": "orders.api.enumerations.RESULT_FIELD_TYPES",
        "Situation": "orders.api.enumerations.SITUATIONS",
        "StageState": "orders.api.enumerations.STAGE_STATES",
        "StandingKind": "orders.api.enumerations.STANDINGS",
        "StepState": "orders.api.enumerations.STEP_STATES",
        "WaitingFor": "orders.api.enumerations.WAITING_FOR",
    },
}

# MAILERS; before Django 6.1, EMAIL_BACKEND, EMAIL_HOST and so on.
globals().update(mail_server.settings(CONFIG.email_url))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = CONFIG.email_from

logs.configure()
LOGGING = logs.settings()
