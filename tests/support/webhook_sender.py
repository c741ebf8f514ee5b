"""A sender for clients' webhooks that works until it is killed: python -m tests.support.webhook_sender"""

import os

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    django.setup()
    from orders import jobs  # noqa: PLC0415 - needs Django to be set up

    jobs.webhook_shift(600)


if __name__ == "__main__":
    main()
