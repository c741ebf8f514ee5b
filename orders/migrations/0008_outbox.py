"""The outbox takes over the deliveries of alerts, the ones that still wait among them."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

MOVE_DELIVERIES = """
    INSERT INTO orders_outgoingmessage
           (kind, channel, recipient, arguments, group_id, priority, state, attempts, created_at, due_at, give_up_at,
            ended_at, error)
    SELECT 'alert',
           CASE channel WHEN 'mail' THEN 'email' ELSE 'webhook' END,
           target,
           json_build_object('alerts', alerts),
           group_id,
           0,
           CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN next_try_at IS NULL THEN 'failed' ELSE 'queued' END,
           attempts,
           created_at,
           CASE WHEN sent_at IS NULL THEN next_try_at END,
           clock_timestamp() + interval '3 days',
           CASE WHEN sent_at IS NOT NULL THEN sent_at WHEN next_try_at IS NULL THEN created_at END,
           error
      FROM orders_alertdelivery
     ORDER BY id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0007_vocabulary'),
    ]

    operations = [
        migrations.CreateModel(
            name='OutgoingMessage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('alert', 'alert'), ('order_link', 'order link'), ('sign_up', 'sign up'), ('new_password', 'new password')], max_length=12)),
                ('channel', models.CharField(choices=[('email', 'email'), ('webhook', 'webhook')], default='email', max_length=8)),
                ('recipient', models.CharField(help_text="an email address, or the webhook's host", max_length=300)),
                ('arguments', models.JSONField(default=dict, help_text='what it is composed from; never a secret')),
                ('order_id', models.UUIDField(null=True)),
                ('key', models.CharField(help_text='of two posts with one key the first counts', max_length=120, null=True, unique=True)),
                ('priority', models.PositiveSmallIntegerField(choices=[(0, 'Alert'), (1, 'Customer')], default=1)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sending', 'sending'), ('sent', 'sent'), ('skipped', 'skipped'), ('failed', 'failed')], default='queued', max_length=8)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('due_at', models.DateTimeField(help_text='when it is tried next; while it is being sent, when its sender is given up', null=True)),
                ('give_up_at', models.DateTimeField(help_text='the first failure after this is the last')),
                ('ended_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, help_text='of the last attempt', max_length=300)),
                ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='orders.alertgroup')),
            ],
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['priority', 'due_at'], name='outbox_due'),
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(fields=['state', '-id'], name='outbox_by_state'),
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(condition=models.Q(('group__isnull', False)), fields=['group', '-id'], name='outbox_by_group'),
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='outbox_ended'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', False), ('ended_at__isnull', True), ('state__in', ['queued', 'sending'])), models.Q(('due_at__isnull', True), ('ended_at__isnull', False), ('state__in', ['sent', 'skipped', 'failed'])), _connector='OR'), name='an_outgoing_message_is_due_or_has_ended'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'webhook'), _negated=True), ('kind', 'alert'), _connector='OR'), name='only_alerts_go_to_the_webhook'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'alert'), _negated=True), ('group__isnull', False), _connector='OR'), name='an_alert_message_has_its_group'),
        ),
        migrations.RunSQL(MOVE_DELIVERIES, migrations.RunSQL.noop),
        migrations.DeleteModel(
            name='AlertDelivery',
        ),
    ]
