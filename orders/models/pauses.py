"""What operators have paused beside single orders and agents: the intake of new orders."""

from django.db import models
from django.db.models.functions import Now


class IntakePause(models.Model):
    """That no new order is accepted, `until` a time or until somebody resumes the intake. There is one row at most.

    A pause whose time is over is none. Only `orders.services.operators.pausing_intake` writes it; the audit log has
    the earlier ones.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField(db_default=Now())
    until = models.DateTimeField(null=True)
    by = models.CharField(max_length=120)
    reason = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="the_intake_has_one_pause_at_most"),
            models.CheckConstraint(condition=~models.Q(reason=""), name="a_pause_of_the_intake_has_a_reason"),
            models.CheckConstraint(
                condition=models.Q(until__isnull=True) | models.Q(until__gt=models.F("at")),
                name="a_pause_of_the_intake_ends_after_it_began",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.by}: {self.reason}"


class StepPause(models.Model):
    """That no new call of a step begins, in any order of its workflow, `until` a time or until somebody resumes it.

    A pause whose time is over is none. Only `orders.services.operators.pausing_steps` writes them; the audit log has
    the earlier ones.
    """

    id = models.BigAutoField(primary_key=True)
    workflow = models.CharField(max_length=60)
    step = models.CharField(max_length=60)
    at = models.DateTimeField(db_default=Now())
    until = models.DateTimeField(null=True)
    by = models.CharField(max_length=120)
    reason = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workflow", "step"], name="a_step_has_one_pause_at_most"),
            models.CheckConstraint(condition=~models.Q(reason=""), name="a_pause_of_a_step_has_a_reason"),
            models.CheckConstraint(
                condition=models.Q(until__isnull=True) | models.Q(until__gt=models.F("at")),
                name="a_pause_of_a_step_ends_after_it_began",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workflow}/{self.step}"
