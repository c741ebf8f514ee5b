"""Bulk actions name their columns with nouns, and so does the index of alerts that nobody was notified of."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("orders", "0010_compensation_and_results")]

    operations = [
        migrations.RenameField("bulkaction", "what", "selection"),
        migrations.RenameField("bulkaction", "why_paused", "pause_reason"),
        migrations.RenameIndex("alert", old_name="alert_untold", new_name="alert_unnotified"),
    ]
