"""What a business declares: kinds of orders with their workflows and profiles, and agents with their settings.

A business is a Django app with two modules, found as `admin.py` is, in the packages that `BUSINESSES` names:

    workflows.py    classes of `OrderKind`
    agents.py       agents(environment), which makes its agents

Everything that the two need is here and in `orders.agents`.
"""

from orders.business.corrections import fewer_lines, read_quantities
from orders.business.fields import Attribute, Field, FieldType, ResultFact, ResultField, ResultType
from orders.business.jobs import PeriodicJob
from orders.business.kinds import ClientLink, Draft, OrderKind, Profile
from orders.business.lines import Line, LineName, LinePicture
from orders.business.placing import CannotBePlacedError
from orders.business.reading import BadOrderError, RefusedAgainError
from orders.business.refusals import OrderedLine, RefusalWords
from orders.business.runbooks import Advice, Runbook
from orders.business.sum_rows import SumRow
from orders.business.updates import OrderUpdate
from orders.business.words import Charge, ChargeWords, CustomerWords, Situation, SituationWords, StageWords
from orders.engine.contracts import Compensation, Json, Remedy, Step, Workflow
from orders.engine.moving import Move
from orders.engine.waits import Decision, Delay, OutsideEvent
from orders.fields.money import Money
from sasweb.environment import Environment

__all__ = [
    "Advice",
    "Attribute",
    "BadOrderError",
    "CannotBePlacedError",
    "Charge",
    "ChargeWords",
    "ClientLink",
    "Compensation",
    "CustomerWords",
    "Decision",
    "Delay",
    "Draft",
    "Environment",
    "Field",
    "FieldType",
    "Json",
    "Line",
    "LineName",
    "LinePicture",
    "Money",
    "Move",
    "OrderKind",
    "OrderUpdate",
    "OrderedLine",
    "OutsideEvent",
    "PeriodicJob",
    "Profile",
    "RefusalWords",
    "RefusedAgainError",
    "Remedy",
    "ResultFact",
    "ResultField",
    "ResultType",
    "Runbook",
    "Situation",
    "SituationWords",
    "StageWords",
    "Step",
    "SumRow",
    "Workflow",
    "fewer_lines",
    "read_quantities",
]
