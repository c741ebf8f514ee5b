"""A receiver with a library of Standard Webhooks can check our calls, and a secret that is none stops the start."""

from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orders.outbox.content import WebhookCall
from orders.outbox.delivery import deliver
from sasweb import config
from sasweb.webhook_signatures import make_secret, read_secret, signed_headers, write_secret
from tests.support.webhook import LOOPBACK, webhook

BODY = b'{"test": 2432232314}'
SECRETS = [bytes(range(32)), bytes(range(24))]
BY_THE_REFERENCE = [
    "v1,O4Gjv1HqPqsMrjmczoggs/sWA8gZD0VyHG+fLh4+ktI=",
    "v1,/485aUtxlie+TIScVpHggMfqOB4so2KWb7+Gf727B44=",
]
"""What the library `standardwebhooks` 1.1.0 makes of that message by each secret, at that time."""


def test_the_signature_is_that_of_the_standards_own_library() -> None:
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", body=BODY, timestamp=1614265330, signing_secrets=SECRETS
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": " ".join(BY_THE_REFERENCE),
    }


def test_a_secret_is_as_the_standard_writes_it() -> None:
    secret = make_secret()
    assert len(secret) == 32 and secret != make_secret()
    assert write_secret(secret) == "whsec_" + b64encode(secret).decode()
    assert read_secret(write_secret(secret)) == secret


@pytest.mark.parametrize(
    "text",
    ["", "whsec_", "secret", b64encode(bytes(32)).decode(), "whsec_****", write_secret(bytes(23)),
     write_secret(bytes(65))],
)  # fmt: skip
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not"):
        read_secret(text)


def test_a_wrong_secret_of_the_alerts_stops_the_start_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    good = write_secret(bytes(32))
    for value in ("hunter2", f"{good},", f"{good},hunter2", f"{good},{good},{good}"):
        monkeypatch.setenv("ALERT_WEBHOOK_SECRET", value)
        with pytest.raises(
            config.ConfigError, match=r"^ALERT_WEBHOOK_SECRET is not valid; expected"
        ) as refused:
            config.read()
        assert "hunter2" not in str(refused.value) and good not in str(refused.value)
    monkeypatch.setenv("ALERT_WEBHOOK_SECRET", f"{good}, {write_secret(bytes(24))}")
    assert config.read().alert_webhook_secret == (bytes(32), bytes(24))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_alerts_webhook_is_signed_by_each_of_its_secrets(settings: Any, number: int) -> None:
    settings.CONFIG = replace(
        settings.CONFIG, webhook_networks=LOOPBACK, alert_webhook_secret=tuple(SECRETS[:number])
    )
    with webhook() as hook:
        deliver(WebhookCall(url=hook.url, body={"text": "an alert"}), message_id="outbox-1")
    (headers,), (body,) = hook.headers, hook.bodies
    expected = signed_headers(
        "outbox-1",
        body=body,
        timestamp=int(headers["webhook-timestamp"]),
        signing_secrets=SECRETS[:number],
    )
    assert {name: value for name, value in headers.items() if name.startswith("webhook-")} == expected
    assert len(expected.get("webhook-signature", "").split()) == number
    assert headers["idempotency-key"] == "outbox-1"
