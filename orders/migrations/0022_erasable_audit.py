from django.db import migrations

# The log stays append-only, except that an erasure may replace a person's email in it, within its own transaction.
ERASABLE = """
    CREATE OR REPLACE FUNCTION orders_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' AND current_setting('sasweb.erasing', true) = 'on'
           AND (NEW.id, NEW.at, NEW.act, NEW.allowed) IS NOT DISTINCT FROM (OLD.id, OLD.at, OLD.act, OLD.allowed) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'the audit log is append-only';
    END $$;
"""
APPEND_ONLY = """
    CREATE OR REPLACE FUNCTION orders_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the audit log is append-only';
    END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0021_submission_keys_by_order'),
    ]

    operations = [
        migrations.RunSQL(ERASABLE, APPEND_ONLY),
    ]
