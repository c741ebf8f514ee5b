"""All tables, before the first release. A change after it is a migration of its own."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


# Rows that are updated all the time keep room for it on their page, and their tables are vacuumed early.
HOT = ("orderprocess", "stepstate", "agentrequest", "agentreply", "submissionmessage", "leaderlease", "agentinstance")
SET = "ALTER TABLE orders_{} SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01)"
RESET = "ALTER TABLE orders_{} RESET (fillfactor, autovacuum_vacuum_scale_factor)"


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentReply',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField()),
                ('step_id', models.BigIntegerField()),
                ('attempt', models.PositiveIntegerField()),
                ('undo', models.BooleanField(default=False)),
                ('outcome', models.CharField(max_length=8)),
                ('body', models.JSONField()),
                ('calls', models.PositiveIntegerField(default=1)),
                ('waited', models.FloatField(db_default=0.0, help_text='seconds that the request waited for an agent')),
                ('seconds', models.FloatField(db_default=0.0, help_text='seconds that the agent had it')),
                ('instance', models.CharField(max_length=80)),
                ('posted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='LeaderLease',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('holder', models.CharField(max_length=80, null=True)),
                ('term', models.PositiveBigIntegerField(default=0)),
                ('expires_at', models.DateTimeField(null=True)),
                ('swept_at', models.DateTimeField(null=True)),
                ('last_sweep', models.JSONField(default=dict, help_text='what the last sweep found and did')),
            ],
        ),
        migrations.CreateModel(
            name='SubmissionMessage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField(db_index=True)),
                ('client', models.CharField(max_length=80)),
                ('body', models.JSONField()),
                ('posted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='AgentInstance',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('instance', models.CharField(max_length=80)),
                ('agent', models.CharField(max_length=60)),
                ('capacity', models.PositiveIntegerField()),
                ('in_flight', models.PositiveIntegerField(default=0)),
                ('calls', models.PositiveBigIntegerField(default=0)),
                ('failed_calls', models.PositiveBigIntegerField(default=0)),
                ('mean_seconds', models.FloatField(help_text="moving average of a call's duration", null=True)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('instance', 'agent'), name='one_row_per_instance')],
            },
        ),
        migrations.CreateModel(
            name='AgentRequest',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField()),
                ('step_id', models.BigIntegerField(unique=True)),
                ('step', models.CharField(max_length=60)),
                ('agent', models.CharField(max_length=60)),
                ('operation', models.CharField(max_length=60)),
                ('attempt', models.PositiveIntegerField()),
                ('undo', models.BooleanField(default=False)),
                ('key', models.CharField(max_length=200)),
                ('reverses', models.CharField(blank=True, max_length=200)),
                ('body', models.JSONField()),
                ('complete_by', models.DateTimeField()),
                ('priority', models.PositiveSmallIntegerField(default=5)),
                ('deliveries', models.PositiveSmallIntegerField(default=0)),
                ('leased_by', models.CharField(max_length=80, null=True)),
                ('leased_until', models.DateTimeField(null=True)),
                ('posted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(models.F('agent'), models.OrderBy(models.F('priority'), descending=True), models.F('id'), condition=models.Q(('leased_until__isnull', True)), name='request_free'), models.Index(condition=models.Q(('leased_until__isnull', False)), fields=['leased_until'], name='request_leased')],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('step_failed', 'a step failed for good'), ('compensation_failed', 'an undo failed for good'), ('order_overran', 'the order kept passing its complete-by'), ('unprocessable', 'the order cannot be processed as it is stored'), ('set_aside', 'a submission can never be inserted')], max_length=20)),
                ('step', models.CharField(blank=True, max_length=60)),
                ('agent', models.CharField(blank=True, max_length=60)),
                ('code', models.CharField(help_text="the error's class", max_length=60)),
                ('message', models.TextField()),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('notified_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('closed_by', models.CharField(blank=True, max_length=120)),
                ('resolution', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('closed_at__isnull', True)), fields=['-opened_at'], name='alert_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('order_id',), name='one_open_alert_per_order')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(max_length=24)),
                ('step', models.CharField(blank=True, max_length=60)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('actor', models.CharField(max_length=120)),
                ('detail', models.JSONField(default=dict)),
            ],
            options={
                'indexes': [models.Index(fields=['order_id', 'id'], name='event_by_order')],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254)),
                ('currency', models.CharField(max_length=3)),
                ('total', models.PositiveBigIntegerField(help_text='minor units')),
                ('ship_to', models.JSONField()),
                ('payment_method', models.CharField(max_length=64)),
                ('placed_at', models.DateTimeField()),
                ('inserted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('customer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='OrderProcess',
            fields=[
                ('order_id', models.UUIDField(primary_key=True, serialize=False)),
                ('workflow', models.CharField(max_length=60)),
                ('version', models.PositiveSmallIntegerField()),
                ('goal', models.CharField(choices=[('complete', 'complete'), ('compensate', 'compensate')], default='complete', max_length=10)),
                ('process_state', models.CharField(choices=[('pending', 'pending'), ('processing', 'processing'), ('processed', 'processed'), ('error', 'error'), ('compensated', 'compensated')], default='pending', max_length=11)),
                ('locked_by', models.CharField(max_length=80, null=True)),
                ('complete_by', models.DateTimeField(null=True)),
                ('failure_count', models.PositiveIntegerField(default=0)),
                ('overruns', models.PositiveIntegerField(default=0, help_text='times the order itself passed its complete-by')),
                ('priority', models.PositiveSmallIntegerField(default=5)),
                ('not_before', models.DateTimeField(help_text='when something that waits becomes due', null=True)),
                ('reply_to', models.CharField(blank=True, help_text="the submitting application's response queue", max_length=120)),
                ('announced', models.BooleanField(default=True, help_text='false in Error until the application was told')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(models.OrderBy(models.F('priority'), descending=True), models.F('order_id'), condition=models.Q(('not_before__isnull', True), ('process_state', 'pending')), name='process_ready'), models.Index(condition=models.Q(('not_before__isnull', False), ('process_state__in', ['pending', 'processing'])), fields=['not_before'], name='process_waiting'), models.Index(condition=models.Q(('process_state', 'processing')), fields=['complete_by'], name='process_overdue'), models.Index(condition=models.Q(('announced', False)), fields=['order_id'], name='process_unannounced'), models.Index(fields=['process_state', '-order_id'], name='process_by_state')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('complete_by__isnull', False), ('locked_by__isnull', False), ('process_state', 'processing')), models.Q(models.Q(('process_state', 'processing'), _negated=True), ('locked_by__isnull', True)), _connector='OR'), name='only_a_processing_order_is_locked'), models.CheckConstraint(condition=models.Q(models.Q(('process_state', 'compensated'), _negated=True), ('goal', 'compensate'), _connector='OR'), name='compensated_only_if_asked'), models.CheckConstraint(condition=models.Q(models.Q(('process_state', 'processed'), _negated=True), ('goal', 'complete'), _connector='OR'), name='processed_only_if_meant'), models.CheckConstraint(condition=models.Q(('priority__lte', 9)), name='priority_is_one_digit'), models.CheckConstraint(condition=models.Q(('process_state__in', ['pending', 'processing', 'processed', 'error', 'compensated'])), name='process_state_is_known'), models.CheckConstraint(condition=models.Q(('goal__in', ['complete', 'compensate'])), name='goal_is_known')],
            },
        ),
        migrations.CreateModel(
            name='Product',
            fields=[
                ('sku', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('size', models.CharField(blank=True, help_text='centimetres, as in 30x40', max_length=12)),
                ('edition', models.CharField(choices=[('open', 'Open edition'), ('signed', 'Signed and numbered')], default='open', max_length=12)),
                ('title', models.CharField(max_length=120)),
                ('artist', models.CharField(max_length=120)),
                ('description', models.TextField(blank=True)),
                ('price', models.PositiveIntegerField(help_text='minor units')),
                ('currency', models.CharField(default='EUR', max_length=3)),
                ('design', models.JSONField(default=dict)),
                ('is_listed', models.BooleanField(default=True)),
                ('rank', models.PositiveIntegerField(default=1000, help_text='its place among the featured, the first lowest')),
                ('added_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('variant_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='orders.product')),
            ],
            options={
                'ordering': ('title',),
            },
        ),
        migrations.CreateModel(
            name='OrderLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=120)),
                ('quantity', models.PositiveIntegerField()),
                ('unit_price', models.PositiveIntegerField(help_text='minor units')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.order')),
                ('product', models.ForeignKey(db_column='sku', on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.product')),
            ],
        ),
        migrations.CreateModel(
            name='SetAside',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('order_id', models.UUIDField(db_index=True)),
                ('client', models.CharField(max_length=80)),
                ('body', models.JSONField()),
                ('reason', models.TextField()),
                ('posted_at', models.DateTimeField()),
                ('set_aside_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('replayed_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('replayed_at__isnull', True)), fields=('order_id',), name='set_aside_once')],
            },
        ),
        migrations.CreateModel(
            name='StatusMessage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('queue', models.CharField(max_length=120)),
                ('order_id', models.UUIDField()),
                ('kind', models.CharField(max_length=16)),
                ('body', models.JSONField(default=dict)),
                ('posted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['queue', 'id'], name='status_by_queue')],
            },
        ),
        migrations.CreateModel(
            name='StepState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('position', models.PositiveSmallIntegerField()),
                ('agent', models.CharField(max_length=60)),
                ('state', models.CharField(choices=[('not_started', 'not started'), ('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('skipped', 'skipped'), ('compensating', 'compensating'), ('compensated', 'compensated')], default='not_started', max_length=12)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('answered', models.PositiveIntegerField(default=0, help_text='the last attempt that a reply was recorded for')),
                ('generation', models.PositiveIntegerField(default=1)),
                ('undo_generation', models.PositiveIntegerField(default=1)),
                ('outcome', models.CharField(choices=[('none', 'none'), ('unknown', 'unknown'), ('refused', 'refused'), ('done', 'done')], default='none', max_length=7)),
                ('complete_by', models.DateTimeField(null=True)),
                ('settles_at', models.DateTimeField(help_text='until then a call that timed out may still land', null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('failure_count', models.PositiveIntegerField(default=0)),
                ('undo_failure_count', models.PositiveIntegerField(default=0)),
                ('extended_waits', models.PositiveIntegerField(default=0)),
                ('request', models.JSONField(default=dict)),
                ('result', models.JSONField(null=True)),
                ('error', models.JSONField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('process', models.ForeignKey(db_column='order_id', on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='orders.orderprocess')),
            ],
            options={
                'ordering': ('process', 'position'),
            },
        ),
        migrations.CreateModel(
            name='SubmissionKey',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('client', models.CharField(max_length=80)),
                ('key', models.CharField(max_length=255)),
                ('body_hash', models.CharField(max_length=64)),
                ('order_id', models.UUIDField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('client', 'key'), name='one_order_per_key')],
            },
        ),
        migrations.CreateModel(
            name='Address',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('street', models.CharField(max_length=200)),
                ('city', models.CharField(max_length=200)),
                ('postal_code', models.CharField(max_length=200)),
                ('country', models.CharField(help_text='ISO 3166-1, two letters', max_length=2)),
                ('is_default', models.BooleanField(default=False)),
                ('added_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='addresses', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-is_default', '-id'),
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('user',), name='one_default_address_per_user'), models.CheckConstraint(condition=models.Q(('country__regex', '^[A-Z]{2}$')), name='country_is_two_letters')],
            },
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['customer', '-placed_at'], name='order_by_customer'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.CheckConstraint(condition=models.Q(('total__gt', 0)), name='order_has_a_total'),
        ),
        migrations.AddConstraint(
            model_name='product',
            constraint=models.CheckConstraint(condition=models.Q(('price__gt', 0)), name='product_has_a_price'),
        ),
        migrations.AddConstraint(
            model_name='product',
            constraint=models.CheckConstraint(condition=models.Q(('variant_of', None), models.Q(('variant_of', models.F('sku')), _negated=True), _connector='OR'), name='product_is_no_variant_of_itself'),
        ),
        migrations.AddConstraint(
            model_name='product',
            constraint=models.UniqueConstraint(fields=('variant_of', 'size', 'edition'), name='one_variant_per_size_and_edition'),
        ),
        migrations.AddConstraint(
            model_name='orderline',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='line_has_a_quantity'),
        ),
        migrations.AddConstraint(
            model_name='orderline',
            constraint=models.UniqueConstraint(fields=('order', 'product'), name='one_line_per_product'),
        ),
        migrations.AddIndex(
            model_name='stepstate',
            index=models.Index(condition=models.Q(('complete_by__isnull', False)), fields=['complete_by'], name='step_in_flight'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.UniqueConstraint(fields=('process', 'name'), name='one_state_per_step'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('complete_by__isnull', False), ('state', 'running')), ('state', 'compensating'), models.Q(models.Q(('state', 'running'), _negated=True), ('complete_by__isnull', True)), _connector='OR'), name='in_flight_has_a_complete_by'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['not_started', 'running', 'completed', 'failed', 'skipped', 'compensating', 'compensated'])), name='step_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['none', 'unknown', 'refused', 'done'])), name='outcome_is_known'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(('answered__lte', models.F('attempt'))), name='answered_only_what_was_asked'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'completed'), _negated=True), ('outcome', 'done'), _connector='OR'), name='completed_means_done'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('outcome', 'unknown'), _connector='OR'), name='running_means_unknown'),
        ),
        migrations.AddConstraint(
            model_name='stepstate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['running', 'completed', 'compensating', 'compensated']), _negated=True), ('attempt__gt', 0), _connector='OR'), name='dispatched_means_attempted'),
        ),
        *(migrations.RunSQL(SET.format(table), RESET.format(table)) for table in HOT),
    ]
