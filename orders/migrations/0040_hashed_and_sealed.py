"""Stores sessions under a hash of their keys, and seals the second factors' secrets. Going back signs everybody out."""

from typing import Any

from django.db import migrations

HASH_KEYS = "UPDATE django_session SET session_key = left(encode(sha256(session_key::bytea), 'hex'), 40)"


def seal_factors(apps: Any, _editor: Any) -> None:
    from sasweb.sealing import MARK, seal  # noqa: PLC0415  # as it was then would be of no use

    for device in apps.get_model("otp_totp", "TOTPDevice").objects.exclude(key__startswith=MARK):
        device.key = seal(bytes.fromhex(device.key), purpose="second factor")
        device.save(update_fields=["key"])


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0039_audit_chain"),
        ("otp_totp", "0003_add_timestamps"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="TotpFactor",
            fields=[],
            options={"proxy": True, "indexes": [], "constraints": []},
            bases=("otp_totp.totpdevice",),
        ),
        migrations.RunSQL(HASH_KEYS, "DELETE FROM django_session"),
        migrations.RunPython(seal_factors, migrations.RunPython.noop),
    ]
