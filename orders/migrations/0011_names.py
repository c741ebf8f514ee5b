"""Bulk actions name their columns with nouns; an index says what it holds; the admin site uses the right plurals."""

from django.db import migrations

PERMISSIONS = [
    ("view_console", "Can look at the operator console"),
    ("operate", "Can resubmit, compensate, skip, settle, acknowledge, and pause agents"),
    ("administer", "Can force circuits and settle what was done outside"),
]


class Migration(migrations.Migration):
    dependencies = [("orders", "0010_compensation_and_results")]

    operations = [
        migrations.RenameField("bulkaction", "what", "selection"),
        migrations.RenameField("bulkaction", "why_paused", "pause_reason"),
        migrations.RenameIndex("alert", old_name="alert_untold", new_name="alert_unnotified"),
        migrations.AlterModelOptions(
            "address", {"ordering": ("-is_default", "-id"), "verbose_name_plural": "addresses"}
        ),
        migrations.AlterModelOptions("agentreply", {"verbose_name_plural": "agent replies"}),
        migrations.AlterModelOptions(
            "auditentry", {"permissions": PERMISSIONS, "verbose_name_plural": "audit entries"}
        ),
        migrations.AlterModelOptions("orderprocess", {"verbose_name_plural": "order processes"}),
    ]
