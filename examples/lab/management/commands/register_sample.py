"""`manage.py register_sample CODE METHOD BATCH`."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from examples.lab.samples import register
from orders.business import BadOrderError
from orders.business.placing import KeyReusedError


class Command(BaseCommand):
    help = "Register a sample and start its analysis. Prints the order's id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("code", help="what is on the tube")
        parser.add_argument("method")
        parser.add_argument("batch")

    def handle(self, *, code: str, method: str, batch: str, **options: object) -> None:
        try:
            order_id = register(code=code, method=method, batch=batch)
        except KeyReusedError as error:
            raise CommandError(
                f"sample {code} is registered already, with another method or batch"
            ) from error
        except BadOrderError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(order_id))
