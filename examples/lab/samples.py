"""Registers samples."""

from uuid import UUID

from django.db import transaction

from examples.lab.models import Sample
from examples.lab.workflows import AnalyseSample


def register(*, code: str, method: str, batch: str) -> UUID:
    """Inserts a sample and starts its analysis, both or neither. Returns the order's id.

    Registered twice, a sample is analysed once. Raises `BadOrderError`, and `KeyReusedError` if it was registered with
    another method or batch.
    """
    with transaction.atomic():
        sample, _ = Sample.objects.get_or_create(code=code, defaults={"batch": batch})
        return AnalyseSample.start(sample, {"sample": code, "method": method, "batch": batch}, key=code)
