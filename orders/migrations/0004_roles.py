"""The roles viewer, operator and admin, as groups with permissions."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

VIEWER = ["orders.view_console"]
OPERATOR = [*VIEWER, "orders.operate"]
ADMIN = [
    *OPERATOR,
    "orders.administer",
    *(f"orders.{act}_product" for act in ("view", "add", "change")),
    *(f"auth.{act}_user" for act in ("view", "add", "change")),
    "auth.view_group",
]
ROLES = {"viewer": VIEWER, "operator": OPERATOR, "admin": ADMIN}


def make_roles(apps, schema_editor):
    """Permissions are otherwise made only after all migrations, so those that are missing are made here."""
    for label in ("orders", "auth"):
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0, using=schema_editor.connection.alias)
        config.models_module = None
    groups, permissions = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for name, codes in ROLES.items():
        group, is_new = groups.objects.get_or_create(name=name)
        if is_new:
            for code in codes:
                label, codename = code.split(".")
                group.permissions.add(
                    permissions.objects.get(content_type__app_label=label, codename=codename)
                )


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0003_sweeprecord"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RunPython(make_roles, migrations.RunPython.noop),
    ]
