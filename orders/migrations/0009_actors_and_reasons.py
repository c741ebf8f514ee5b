"""An actor is a kind and a name, and why an order is compensated is a code instead of a sentence.

The name of a process stays its instance id, which begins with its role; that of a customer is the client whose
submission it was. Whoever else is named is an operator.
"""

from django.db import migrations, models

ACTOR_KINDS = """
    UPDATE orders_event
       SET actor_kind = CASE
               WHEN actor_name ~ '^(submission|agents|supervisor):' THEN split_part(actor_name, ':', 1)
               WHEN actor_name IN ('customer', 'guest') OR actor_name ~ '^user:[0-9]+$' THEN 'customer'
               ELSE 'operator'
           END
     WHERE actor_name !~ '^scheduler:'
"""
REASONS = """
    UPDATE orders_event
       SET detail = CASE detail->>'why'
               WHEN 'the customer cancelled' THEN jsonb_set(detail, '{why}', '"customer_cancelled"')
               WHEN 'the customer did not mend the refusal in time'
                   THEN jsonb_set(detail, '{why}', '"customer_did_not_resolve"')
               WHEN 'the step''s remedy' THEN jsonb_set(detail, '{why}', '"step_remedy"')
               ELSE detail || jsonb_build_object('why', 'operator_requested', 'reason', detail->'why')
           END
     WHERE kind = 'undo_requested' AND detail ? 'why'
"""
SENTENCES = """
    UPDATE orders_event
       SET detail = CASE detail->>'why'
               WHEN 'customer_cancelled' THEN jsonb_set(detail, '{why}', '"the customer cancelled"')
               WHEN 'customer_did_not_resolve'
                   THEN jsonb_set(detail, '{why}', '"the customer did not mend the refusal in time"')
               WHEN 'step_remedy' THEN jsonb_set(detail, '{why}', '"the step''s remedy"')
               ELSE (detail - 'reason') || jsonb_build_object('why', detail->'reason')
           END
     WHERE kind = 'undo_requested' AND detail ? 'why'
"""
KINDS = ("customer", "operator", "submission", "scheduler", "agents", "supervisor")


class Migration(migrations.Migration):
    dependencies = [("orders", "0008_outbox")]

    operations = [
        migrations.RenameField(model_name="event", old_name="actor", new_name="actor_name"),
        migrations.AddField(
            model_name="event",
            name="actor_kind",
            # Most events are the schedulers': theirs need no rewriting.
            field=models.CharField(max_length=12, choices=[(kind, kind) for kind in KINDS], default="scheduler"),
            preserve_default=False,
        ),
        migrations.RunSQL(ACTOR_KINDS, migrations.RunSQL.noop),
        migrations.RunSQL(REASONS, SENTENCES),
        migrations.RenameField(model_name="auditentry", old_name="address", new_name="ip_address"),
    ]
