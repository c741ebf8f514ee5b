"""The terms by which operators find customers: parts of their emails, and their names. A job fills them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0068_openings_of_alerts"),
    ]

    operations = [
        migrations.CreateModel(
            name="TermsWalk",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                (
                    "until",
                    models.DateTimeField(
                        help_text="orders that were inserted before have been looked at", null=True
                    ),
                ),
                (
                    "archived_after",
                    models.UUIDField(help_text="behind which order of the archive it goes on", null=True),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CustomerTerm",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("email", models.EmailField(help_text="in lower case", max_length=254)),
                ("term", models.CharField(help_text="in lower case", max_length=254)),
                ("is_name", models.BooleanField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["term", "email"],
                        name="customer_term_by_beginning",
                        opclasses=["varchar_pattern_ops", "varchar_ops"],
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("email", "is_name", "term"), name="a_term_of_an_email_once"
                    )
                ],
            },
        ),
    ]
