from django.db import migrations, models

# A link is made when the transaction of the act commits. Then it needs no further lock, so the one that puts links in
# order is held for no longer than the commit, and cannot be part of a deadlock.
#
# The functions run with the rights of their owner, who alone may write links and change entries. Without a fixed
# search path, somebody's temporary table could stand in for ours; nobody may attach them to a table of his own.
CHAIN = """
    CREATE FUNCTION orders_audit_digest(entry orders_auditentry, salt uuid) RETURNS bytea LANGUAGE sql STABLE AS $$
        SELECT sha256(convert_to(jsonb_build_array(salt, entry.id, extract(epoch FROM entry.at), entry.actor,
            entry.ip_address, entry.act, entry.target, entry.allowed, entry.result, entry.reason, entry.before,
            entry.after)::text, 'UTF8'))
    $$;

    CREATE FUNCTION orders_audit_hash(before bytea, place bigint, entry bigint, digest bytea) RETURNS bytea
        LANGUAGE sql IMMUTABLE AS $$
        SELECT sha256(coalesce(before, '') || int8send(place) || int8send(entry) || digest)
    $$;

    CREATE FUNCTION orders_audit_append(entry orders_auditentry) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
    DECLARE
        last orders_auditlink;
        place bigint;
        salt uuid := gen_random_uuid();
        digest bytea := orders_audit_digest(entry, salt);
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('orders_auditlink', 0));
        SELECT * INTO last FROM orders_auditlink ORDER BY position DESC LIMIT 1;
        place := coalesce(last.position, 0) + 1;
        UPDATE orders_auditlink AS earlier SET salt = NULL
         WHERE earlier.entry = orders_audit_append.entry.id AND earlier.salt IS NOT NULL;
        INSERT INTO orders_auditlink (position, entry, salt, digest, hash)
        VALUES (place, entry.id, salt, digest, orders_audit_hash(last.hash, place, entry.id, digest));
    END $$;

    CREATE FUNCTION orders_audit_follows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        PERFORM orders_audit_append(NEW);
        RETURN NULL;
    END $$;

    CREATE FUNCTION orders_audit_links_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' AND NEW.salt IS NULL
           AND (NEW.position, NEW.entry, NEW.digest, NEW.hash) = (OLD.position, OLD.entry, OLD.digest, OLD.hash) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'the audit log is append-only';
    END $$;

    -- For an erasure: replaces the texts of an entry, which gets another link.
    CREATE FUNCTION orders_audit_amend(entry bigint, new_actor text, new_target text, new_result text, new_reason text,
        new_before jsonb, new_after jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        PERFORM set_config('sasweb.erasing', 'on', true);
        UPDATE orders_auditentry SET actor = new_actor, target = new_target, result = new_result, reason = new_reason,
            before = new_before, after = new_after WHERE id = entry;
        PERFORM set_config('sasweb.erasing', 'off', true);
    END $$;

    DO $$
    DECLARE secured text;
    BEGIN
        FOREACH secured IN ARRAY ARRAY['orders_audit_append(orders_auditentry)', 'orders_audit_follows()',
            'orders_audit_amend(bigint, text, text, text, text, jsonb, jsonb)'] LOOP
            EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', secured, current_schema());
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', secured);
        END LOOP;
    END $$;

    SELECT orders_audit_append(entry) FROM orders_auditentry AS entry ORDER BY id;

    CREATE CONSTRAINT TRIGGER audit_entry_is_linked AFTER INSERT OR UPDATE ON orders_auditentry
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION orders_audit_follows();
    CREATE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON orders_auditentry
        FOR EACH STATEMENT EXECUTE FUNCTION orders_audit_is_append_only();
    CREATE TRIGGER audit_links_are_append_only BEFORE UPDATE OR DELETE ON orders_auditlink
        FOR EACH ROW EXECUTE FUNCTION orders_audit_links_are_append_only();
    CREATE TRIGGER audit_links_are_not_truncated BEFORE TRUNCATE ON orders_auditlink
        FOR EACH STATEMENT EXECUTE FUNCTION orders_audit_links_are_append_only();
"""
NO_CHAIN = """
    DROP TRIGGER audit_entry_is_linked ON orders_auditentry;
    DROP TRIGGER audit_is_not_truncated ON orders_auditentry;
    DROP TRIGGER audit_links_are_append_only ON orders_auditlink;
    DROP TRIGGER audit_links_are_not_truncated ON orders_auditlink;
    DROP FUNCTION orders_audit_amend(bigint, text, text, text, text, jsonb, jsonb);
    DROP FUNCTION orders_audit_links_are_append_only();
    DROP FUNCTION orders_audit_follows();
    DROP FUNCTION orders_audit_append(orders_auditentry);
    DROP FUNCTION orders_audit_hash(bytea, bigint, bigint, bytea);
    DROP FUNCTION orders_audit_digest(orders_auditentry, uuid);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0037_api_tokens'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditLink',
            fields=[
                ('position', models.BigIntegerField(help_text='counted from 1, without gaps', primary_key=True, serialize=False)),
                ('entry', models.BigIntegerField(help_text='the id of the entry')),
                ('salt', models.UUIDField(help_text='null once another link of the entry follows', null=True)),
                ('digest', models.BinaryField(help_text='SHA-256 of the salt and the entry')),
                ('hash', models.BinaryField(help_text="SHA-256 of the hash before, the position, the entry's id and the digest")),
            ],
            options={
                'indexes': [models.Index(fields=['entry', 'position'], name='audit_link_by_entry')],
            },
        ),
        migrations.RunSQL(CHAIN, NO_CHAIN),
    ]
