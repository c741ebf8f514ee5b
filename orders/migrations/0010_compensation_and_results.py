"""One word for one thing in the rows, too: compensation is not called undo, and what an act led to is its result.

The last segment of an idempotency key stays `undo`: a key must not change between two tries.
"""

from django.db import migrations, models

KINDS = """
    UPDATE orders_event
       SET kind = CASE kind
               WHEN 'settled_undone' THEN 'settled_compensated'
               ELSE replace(kind, 'undo_', 'compensation_')
           END
     WHERE kind IN ('undo_requested', 'undo_started', 'undo_failed', 'undo_timed_out', 'settled_undone')
"""
KINDS_BACK = """
    UPDATE orders_event
       SET kind = CASE kind
               WHEN 'settled_compensated' THEN 'settled_undone'
               ELSE replace(kind, 'compensation_', 'undo_')
           END
     WHERE kind IN ('compensation_requested', 'compensation_started', 'compensation_failed',
                    'compensation_timed_out', 'settled_compensated')
"""
RULINGS = """
    UPDATE orders_event SET detail = jsonb_set(detail, '{ruling}', '"compensate"')
     WHERE kind = 'step_timed_out' AND detail->>'ruling' = 'undo'
"""
RULINGS_BACK = """
    UPDATE orders_event SET detail = jsonb_set(detail, '{ruling}', '"undo"')
     WHERE kind = 'step_timed_out' AND detail->>'ruling' = 'compensate'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0009_actors_and_reasons'),
    ]

    operations = [
        migrations.RunSQL(KINDS, KINDS_BACK),
        migrations.RunSQL(RULINGS, RULINGS_BACK),
        migrations.AlterModelOptions(
            name='auditentry',
            options={'permissions': [('view_console', 'Can look at the operator console'), ('operate', 'Can resubmit, compensate, skip, settle, acknowledge, and pause agents'), ('administer', 'Can force circuits and settle what was done outside')]},
        ),
        migrations.RenameField(
            model_name='agentreply',
            old_name='undo',
            new_name='compensates',
        ),
        migrations.RenameField(
            model_name='agentrequest',
            old_name='undo',
            new_name='compensates',
        ),
        migrations.RenameField(
            model_name='stepstate',
            old_name='undo_failure_count',
            new_name='compensation_failure_count',
        ),
        migrations.RenameField(
            model_name='stepstate',
            old_name='undo_generation',
            new_name='compensation_generation',
        ),
        migrations.RenameField(
            model_name='auditentry',
            old_name='said',
            new_name='result',
        ),
        migrations.RenameField(
            model_name='bulkitem',
            old_name='said',
            new_name='result',
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='result',
            field=models.CharField(blank=True, help_text='the result, as a sentence', max_length=300),
        ),
        migrations.AlterField(
            model_name='bulkitem',
            name='result',
            field=models.CharField(blank=True, help_text='what happened', max_length=300),
        ),
        migrations.AlterField(
            model_name='agentreply',
            name='seconds',
            field=models.FloatField(db_default=0.0, help_text='seconds that the agent took'),
        ),
        migrations.AlterField(
            model_name='bulkaction',
            name='wave',
            field=models.PositiveSmallIntegerField(default=0, help_text='the present wave, counted from 0'),
        ),
        migrations.AlterField(
            model_name='bulkaction',
            name='what',
            field=models.CharField(help_text='the chosen orders, in words', max_length=300),
        ),
        migrations.AlterField(
            model_name='circuit',
            name='probe_at',
            field=models.DateTimeField(help_text='open: when the next probe is due; half open: when its probe is given up', null=True),
        ),
        migrations.AlterField(
            model_name='circuit',
            name='rate',
            field=models.FloatField(help_text='the most calls per second; null for no limit', null=True),
        ),
        migrations.AlterField(
            model_name='circuit',
            name='tokens',
            field=models.FloatField(default=0.0, help_text='calls that the rate allows now'),
        ),
        migrations.AlterField(
            model_name='orderprocess',
            name='announced',
            field=models.BooleanField(default=True, help_text='false in Error until the application has been told'),
        ),
        migrations.AlterField(
            model_name='orderprocess',
            name='not_before',
            field=models.DateTimeField(help_text='when the order is next due for a scheduler', null=True),
        ),
        migrations.AlterField(
            model_name='orderprocess',
            name='overruns',
            field=models.PositiveIntegerField(default=0, help_text='how many times the order itself was overdue'),
        ),
        migrations.AlterField(
            model_name='outgoingmessage',
            name='arguments',
            field=models.JSONField(default=dict, help_text='what the message is composed from; never a secret'),
        ),
        migrations.AlterField(
            model_name='outgoingmessage',
            name='due_at',
            field=models.DateTimeField(help_text='when it is next tried; while it is being sent, when its sender is given up', null=True),
        ),
        migrations.AlterField(
            model_name='outgoingmessage',
            name='error',
            field=models.CharField(blank=True, help_text='the error of the last attempt', max_length=300),
        ),
        migrations.AlterField(
            model_name='outgoingmessage',
            name='give_up_at',
            field=models.DateTimeField(help_text='a failure after this time is final'),
        ),
        migrations.AlterField(
            model_name='outgoingmessage',
            name='key',
            field=models.CharField(help_text='a second message with the same key is ignored', max_length=120, null=True, unique=True),
        ),
        migrations.AlterField(
            model_name='product',
            name='rank',
            field=models.PositiveIntegerField(default=1000, help_text='position among the featured posters, lowest first'),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='answered',
            field=models.PositiveIntegerField(default=0, help_text='the last attempt whose reply was recorded'),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='original',
            field=models.JSONField(help_text='the request as it was before an operator first edited it', null=True),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='priority',
            field=models.PositiveSmallIntegerField(default=5, help_text="the order's priority"),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='sent_at',
            field=models.DateTimeField(help_text='when the present generation was first dispatched', null=True),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='settles_at',
            field=models.DateTimeField(help_text='until when a call that timed out may still take effect', null=True),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='waiting_since',
            field=models.DateTimeField(help_text='since when the step has been ready and waiting for its agent', null=True),
        ),
        migrations.AlterField(
            model_name='stepstate',
            name='wanted_since',
            field=models.DateTimeField(help_text='since when the step has waited for its agent, probes included; its patience is counted from here', null=True),
        ),
        migrations.AlterField(
            model_name='sweeprecord',
            name='escalated',
            field=models.PositiveIntegerField(help_text='of those, the orders put into Error'),
        ),
        migrations.AlterField(
            model_name='sweeprecord',
            name='found',
            field=models.PositiveIntegerField(help_text='orders that were overdue or had an overdue step'),
        ),
        migrations.AlterField(
            model_name='sweeprecord',
            name='recovered',
            field=models.PositiveIntegerField(help_text='of those, the orders to be tried again or compensated'),
        ),
    ]
