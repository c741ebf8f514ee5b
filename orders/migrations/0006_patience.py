"""A step's patience counts from when it first wanted its agent in vain."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orders', '0005_find_orders'),
    ]

    operations = [
        migrations.AddField(
            model_name='stepstate',
            name='wanted_since',
            field=models.DateTimeField(help_text='since when it has wanted its agent in vain, probes included: so long is its patience', null=True),
        ),
    ]
