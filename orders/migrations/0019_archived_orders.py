import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('orders', '0018_host_quarantine'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArchivedOrder',
            fields=[
                ('order_id', models.UUIDField(primary_key=True, serialize=False)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('state', models.CharField(max_length=11)),
                ('total', models.PositiveBigIntegerField(help_text='minor units', null=True)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('placed_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField()),
                ('archived_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_event', models.BigIntegerField(default=0, help_text='the id of its last event, for its version')),
                ('document', models.JSONField()),
                ('customer', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [
                    models.Index(models.F('customer'), models.OrderBy(models.F('order_id'), descending=True), name='archived_by_customer'),
                    models.Index(django.db.models.functions.text.Lower('email'), name='archived_by_email'),
                    models.Index(fields=['archived_at'], name='archived_by_age'),
                ],
            },
        ),
        migrations.RunSQL(
            "CREATE INDEX archived_by_id_ending ON orders_archivedorder (reverse(order_id::text) text_pattern_ops)",
            "DROP INDEX archived_by_id_ending",
        ),
    ]
