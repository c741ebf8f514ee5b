"""Groups that may view, add or change products may do the same with the terms of delivery, as the level admin says."""

from django.contrib.auth.management import create_permissions
from django.db import migrations


def grant(apps, schema_editor):
    """Permissions are otherwise made only after all migrations, so those that are missing are made here."""
    database = schema_editor.connection.alias
    config = apps.get_app_config("shop")
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0, using=database)
    config.models_module = None
    groups = apps.get_model("auth", "Group").objects.using(database)
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    for act in ("view", "add", "change"):
        of_terms = permissions.get(content_type__app_label="shop", codename=f"{act}_deliveryterms")
        of_products = {
            "permissions__content_type__app_label": "shop",
            "permissions__codename": f"{act}_product",
        }
        for group in groups.filter(**of_products):
            group.permissions.add(of_terms)


class Migration(migrations.Migration):
    dependencies = [
        ("shop", "0005_words_of_the_admin_site"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
