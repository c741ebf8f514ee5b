"""What `manage.py check --deploy` says of the shop."""

from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register

from orders.shop.owner import present_owner


@register(Tags.compatibility, deploy=True)
def check_owner(**_: Any) -> list[CheckMessage]:
    """Warns of facts about the owner that the pages leave out."""
    missing = present_owner().missing
    if not missing:
        return []
    return [
        Warning(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set, so the pages Contact and Privacy "
            "do not say who runs the shop.",
            hint="Customers of most countries have a right to know. README.md lists the settings.",
            id="shop.W001",
        )
    ]
