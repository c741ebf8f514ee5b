"""The sweeps of the supervisor that found something."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0002_agents_health_and_desk'),
    ]

    operations = [
        migrations.CreateModel(
            name='SweepRecord',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('holder', models.CharField(max_length=80)),
                ('term', models.PositiveBigIntegerField()),
                ('found', models.PositiveIntegerField(help_text='orders past their complete-by, or with such a step')),
                ('recovered', models.PositiveIntegerField(help_text='of those, to be tried again or undone')),
                ('escalated', models.PositiveIntegerField(help_text='of those, put into Error')),
                ('steps_timed_out', models.PositiveIntegerField()),
            ],
        ),
    ]
