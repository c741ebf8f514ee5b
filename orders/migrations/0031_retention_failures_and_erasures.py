import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0030_settled_deliveries")]

    operations = [
        migrations.CreateModel(
            name="RetentionFailure",
            fields=[
                ("part", models.CharField(max_length=60, primary_key=True, serialize=False)),
                ("job", models.CharField(max_length=40)),
                ("error", models.CharField(max_length=300)),
                ("since", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("pseudonym", models.CharField(max_length=40)),
                ("entry", models.BigIntegerField(help_text="the id of its entry in the audit log")),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("terms", models.JSONField(default=list)),
                ("accounts", models.JSONField(default=list)),
                ("walked", models.JSONField(default=dict)),
                ("orders", models.PositiveIntegerField(default=0, help_text="orders erased so far")),
                ("mentions", models.PositiveIntegerField(default=0, help_text="other rows changed so far")),
                ("begun_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "leased_until",
                    models.DateTimeField(help_text="until when a process works on it", null=True),
                ),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at__isnull", True)),
                        fields=("pseudonym",),
                        name="one_unfinished_erasure_per_customer",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("finished_at__isnull", True),
                            models.Q(("accounts", []), ("email", ""), ("terms", []), ("walked", {})),
                            _connector="OR",
                        ),
                        name="a_finished_erasure_names_nobody",
                    ),
                ],
            },
        ),
    ]
