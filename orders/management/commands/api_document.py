"""`manage.py api_document`: compares the API's document with the released one, and writes that with --release."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.api.breaking_changes import breaking_changes
from orders.api.released_document import current_document, read_released, released_path, render_document


class Command(BaseCommand):
    help = (
        "Compare the OpenAPI document with the released one of the newest version, and list what breaks for clients."
        " With --release, write it as the released one; nothing may break then: what has to, begins a new version in"
        " orders/access/api_versions.py."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", action="store_true", help="write the released document")

    def handle(self, *_args: object, **options: Any) -> None:
        """Compares, and writes if that is asked for. Raises `CommandError` if something breaks."""
        document, path = current_document(), released_path()
        released = read_released()
        if breaks := breaking_changes(released, document) if released else []:
            raise CommandError("\n".join(["this breaks for clients:", *breaks]))
        if options["release"]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(render_document(document))
            self.stdout.write(f"{path} is what this release promises")
        else:
            self.stdout.write(f"nothing breaks for clients of {path.stem}" if released else f"{path} is new")
