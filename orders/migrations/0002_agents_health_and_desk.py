"""Circuits, waiting for agents, groups of alerts, and the operators' desk."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


GROUP_OLD_ALERTS = """
    INSERT INTO orders_alertgroup (kind, agent, code, pattern, first_at, last_at, acknowledged_by)
    SELECT kind, agent, code, left(message, 200), min(opened_at), max(opened_at), '' FROM orders_alert
     GROUP BY kind, agent, code, left(message, 200);
    UPDATE orders_alert AS a SET group_id = g.id FROM orders_alertgroup AS g
     WHERE (g.kind, g.agent, g.code, g.pattern) = (a.kind, a.agent, a.code, left(a.message, 200));
    SET CONSTRAINTS ALL IMMEDIATE;
"""
PRIORITIES = """
    UPDATE orders_stepstate AS s SET priority = p.priority FROM orders_orderprocess AS p
     WHERE p.order_id = s.order_id AND p.priority <> 5
"""
APPEND_ONLY = """
    CREATE FUNCTION orders_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the audit log is append-only';
    END $$;
    CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON orders_auditentry
        FOR EACH ROW EXECUTE FUNCTION orders_audit_is_append_only();
"""
NOT_APPEND_ONLY = "DROP TRIGGER audit_is_append_only ON orders_auditentry; DROP FUNCTION orders_audit_is_append_only()"
SET = "ALTER TABLE orders_circuit SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)"
RESET = "ALTER TABLE orders_circuit RESET (fillfactor, autovacuum_vacuum_scale_factor)"


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertDelivery',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('channel', models.CharField(help_text='mail or webhook', max_length=8)),
                ('target', models.CharField(max_length=300)),
                ('alerts', models.PositiveIntegerField(help_text='how many new alerts it tells of')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(help_text='null once it has succeeded', null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, help_text='of the last try', max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name='AlertGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('step_failed', 'a step failed for good'), ('compensation_failed', 'an undo failed for good'), ('order_overran', 'the order kept passing its complete-by'), ('unprocessable', 'the order cannot be processed as it is stored'), ('set_aside', 'a submission can never be inserted'), ('outage', 'a remote service does not answer, and its steps wait')], max_length=20)),
                ('agent', models.CharField(blank=True, max_length=60)),
                ('code', models.CharField(help_text="the error's class", max_length=60)),
                ('pattern', models.CharField(max_length=200)),
                ('first_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('acknowledged_by', models.CharField(blank=True, max_length=120)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('actor', models.CharField(max_length=120)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('act', models.CharField(max_length=40)),
                ('target', models.CharField(blank=True, help_text='an order, group, agent or bulk action', max_length=120)),
                ('allowed', models.BooleanField(default=True)),
                ('said', models.CharField(blank=True, help_text='what came of it', max_length=300)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
            ],
            options={
                'permissions': [('view_console', 'Can look at the operator console'), ('operate', 'Can resubmit, undo, skip, settle, acknowledge, and pause agents'), ('administer', 'Can force circuits and settle what was done outside')],
            },
        ),
        migrations.CreateModel(
            name='BulkAction',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('resubmit', 'resubmit'), ('compensate', 'undo')], max_length=12)),
                ('state', models.CharField(choices=[('running', 'running'), ('paused', 'paused'), ('stopped', 'stopped'), ('finished', 'finished'), ('undone', 'undone')], default='running', max_length=8)),
                ('what', models.CharField(help_text='what it is done to, in words', max_length=300)),
                ('query', models.JSONField(default=dict, help_text='the filter that chose the orders')),
                ('by', models.CharField(max_length=120)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('starts_at', models.DateTimeField()),
                ('waves', models.JSONField(default=list)),
                ('wave', models.PositiveSmallIntegerField(default=0, help_text='the wave that is under way, from 0')),
                ('stop_share', models.FloatField(default=0.2)),
                ('rate', models.FloatField(default=20.0)),
                ('total', models.PositiveIntegerField()),
                ('why_paused', models.CharField(blank=True, max_length=200)),
                ('acted_at', models.DateTimeField(help_text='when it last acted on an order', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='BulkItem',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField()),
                ('wave', models.PositiveSmallIntegerField(default=0)),
                ('order_id', models.UUIDField()),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('acted', 'under way'), ('done', 'done'), ('failed', 'failed again'), ('nothing', 'nothing to do')], default='waiting', max_length=8)),
                ('said', models.CharField(blank=True, help_text='what really happened', max_length=300)),
                ('acted_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Circuit',
            fields=[
                ('agent', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('state', models.CharField(default='closed', help_text='closed, open or half_open', max_length=9)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='when the present state began')),
                ('openings', models.PositiveIntegerField(default=0, help_text='times it opened without closing in between')),
                ('cause_code', models.CharField(blank=True, max_length=60)),
                ('cause_message', models.TextField(blank=True)),
                ('opened_at', models.DateTimeField(help_text='when the present, or the last, outage began', null=True)),
                ('closed_at', models.DateTimeField(help_text='when the last outage ended; its ramp begins then', null=True)),
                ('probe_at', models.DateTimeField(help_text='open: when the next probe is due; half open: until when', null=True)),
                ('window_at', models.DateTimeField(null=True)),
                ('window_calls', models.PositiveIntegerField(default=0)),
                ('window_failures', models.PositiveIntegerField(default=0)),
                ('rate', models.FloatField(help_text='calls a second at most; null: no limit', null=True)),
                ('tokens', models.FloatField(default=0.0, help_text='calls that may be begun now, under the rate')),
                ('tokens_at', models.DateTimeField(null=True)),
                ('forced', models.CharField(blank=True, help_text='open or closed, by an operator', max_length=6)),
                ('forced_until', models.DateTimeField(null=True)),
                ('paused', models.BooleanField(default=False)),
                ('held_by', models.CharField(blank=True, help_text='who paused or forced it', max_length=120)),
                ('held_reason', models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='GroupNote',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('by', models.CharField(max_length=120)),
                ('text', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='RetryBudget',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('tokens', models.FloatField()),
                ('refilled_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name='agentinstance',
            name='p95_seconds',
            field=models.FloatField(help_text='of the calls of the last minute', null=True),
        ),
        migrations.AddField(
            model_name='agentinstance',
            name='recent_calls',
            field=models.PositiveIntegerField(default=0, help_text='calls of the last minute'),
        ),
        migrations.AddField(
            model_name='agentinstance',
            name='recent_failures',
            field=models.PositiveIntegerField(default=0, help_text='failed calls of the last minute'),
        ),
        migrations.AddField(
            model_name='stepstate',
            name='original',
            field=models.JSONField(help_text='the request before an operator edited it first', null=True),
        ),
        migrations.AddField(
            model_name='stepstate',
            name='priority',
            field=models.PositiveSmallIntegerField(default=5, help_text="its order's, by which it waits"),
        ),
        migrations.AddField(
            model_name='stepstate',
            name='sent_at',
            field=models.DateTimeField(help_text='when the present generation was first asked for', null=True),
        ),
        migrations.AddField(
            model_name='stepstate',
            name='waiting_since',
            field=models.DateTimeField(help_text='since when it is ready and waits for its agent to be able to take it', null=True),
        ),
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('step_failed', 'a step failed for good'), ('compensation_failed', 'an undo failed for good'), ('order_overran', 'the order kept passing its complete-by'), ('unprocessable', 'the order cannot be processed as it is stored'), ('set_aside', 'a submission can never be inserted'), ('outage', 'a remote service does not answer, and its steps wait')], max_length=20),
        ),
        migrations.AlterField(
            model_name='alert',
            name='order_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name='orderprocess',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['-finished_at'], include=('process_state', 'created_at'), name='process_finished'),
        ),
        migrations.AddIndex(
            model_name='stepstate',
            index=models.Index(models.F('agent'), models.OrderBy(models.F('priority'), descending=True), models.F('process_id'), condition=models.Q(('waiting_since__isnull', False)), name='step_waiting_for_agent'),
        ),
        migrations.AddIndex(
            model_name='stepstate',
            index=models.Index(condition=models.Q(('state', 'failed')), fields=['agent', 'name'], name='step_failed'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(('waiting_since__isnull', True), ('complete_by__isnull', True), _connector='OR'), name='what_waits_is_not_in_flight'),
        ),
        migrations.AddConstraint(
            model_name='alertgroup',
            constraint=models.UniqueConstraint(fields=('kind', 'agent', 'code', 'pattern'), name='one_group_per_cause'),
        ),
        migrations.AddField(
            model_name='alertdelivery',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='orders.alertgroup'),
        ),
        migrations.AddField(
            model_name='alert',
            name='group',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='orders.alertgroup'),
        ),
        migrations.RunSQL(GROUP_OLD_ALERTS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='alert',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='orders.alertgroup'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('closed_at__isnull', True)), fields=['group', '-opened_at'], name='alert_open_by_group'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['group', '-closed_at'], name='alert_by_group'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['order_id'], name='alert_by_order'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('closed_at__isnull', True), ('notified_at__isnull', True)), fields=['id'], name='alert_untold'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True), ('order_id__isnull', True)), fields=('agent',), name='one_open_outage_per_agent'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'outage'), ('order_id__isnull', True)), models.Q(models.Q(('kind', 'outage'), _negated=True), ('order_id__isnull', False)), _connector='OR'), name='only_an_outage_is_about_no_order'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['-at'], name='audit_by_age'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['target', '-at'], name='audit_by_target'),
        ),
        migrations.AddField(
            model_name='bulkaction',
            name='group',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='actions', to='orders.alertgroup'),
        ),
        migrations.AddField(
            model_name='bulkitem',
            name='action',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='orders.bulkaction'),
        ),
        migrations.AddConstraint(
            model_name='circuit',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['closed', 'open', 'half_open'])), name='circuit_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='circuit',
            constraint=models.CheckConstraint(condition=models.Q(('forced__in', ['', 'open', 'closed'])), name='circuit_force_is_known'),
        ),
        migrations.AddConstraint(
            model_name='circuit',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'closed'), ('probe_at__isnull', False), _connector='OR'), name='an_open_circuit_is_probed'),
        ),
        migrations.AddField(
            model_name='groupnote',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='orders.alertgroup'),
        ),
        migrations.AddIndex(
            model_name='alertdelivery',
            index=models.Index(condition=models.Q(('next_try_at__isnull', False)), fields=['next_try_at'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='alertdelivery',
            index=models.Index(fields=['group', 'channel', '-created_at'], name='delivery_by_group'),
        ),
        migrations.AddIndex(
            model_name='bulkaction',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['starts_at'], name='bulk_running'),
        ),
        migrations.AddIndex(
            model_name='bulkaction',
            index=models.Index(fields=['-created_at'], name='bulk_by_age'),
        ),
        migrations.AddIndex(
            model_name='bulkitem',
            index=models.Index(fields=['action', 'state', 'position'], name='bulk_item_by_state'),
        ),
        migrations.AddIndex(
            model_name='bulkitem',
            index=models.Index(fields=['order_id'], name='bulk_item_by_order'),
        ),
        migrations.AddConstraint(
            model_name='bulkitem',
            constraint=models.UniqueConstraint(fields=('action', 'order_id'), name='an_action_takes_an_order_once'),
        ),
        migrations.RunSQL(PRIORITIES, migrations.RunSQL.noop),
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunSQL(SET, RESET),
    ]
