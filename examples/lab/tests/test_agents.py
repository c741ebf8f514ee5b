"""The laboratory's agents keep the contract, against its stand-in."""

from typing import ClassVar

from aiohttp import web

from examples.lab.agents import Instruments, LabService, Reports
from examples.lab.standin import Laboratory
from examples.lab.workflows import REFERENCE
from orders.testing import AgentContract

TOKEN = "a-token-of-the-laboratory"


class LabContract(AgentContract):
    """An agent of the laboratory."""

    service_class: ClassVar[type[LabService]]

    def make_service(self) -> web.Application:
        self.laboratory = Laboratory(TOKEN)
        return self.laboratory.app

    def make_agent(self, url: str) -> LabService:
        return self.service_class(f"{url}/{self.service_class.name}", token=TOKEN)

    def effects(self) -> list[str]:
        return self.laboratory.keys(self.service_class.name)


class TestInstruments(LabContract):
    service_class = Instruments
    operation, step = "book", "book-microscope"
    result_fields = (REFERENCE,)
    data = {"instrument": "microscope", "sample": "S-1", "method": "staining"}


class TestReports(LabContract):
    service_class = Reports
    operation, step = "publish", "report"
    data = {"sample": "S-1", "batch": "B-1"}
    results = {"book-spectrometer": {"reference": "L1"}, "book-microscope": {"reference": "L2"}}
