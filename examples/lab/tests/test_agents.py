"""The laboratory's agents keep the contract, against its stand-in."""

from typing import ClassVar

from aiohttp import web

from examples.lab.agents import ANALYSED_WITHIN, Analyses, Instruments, LabService, Reports
from examples.lab.standin import Laboratory
from examples.lab.workflows import REFERENCE
from orders.agents import Pending
from orders.testing import AgentContract

TOKEN = "a-token-of-the-laboratory"


class LabContract(AgentContract):
    """An agent of the laboratory."""

    service_class: ClassVar[type[LabService]]

    def make_service(self) -> web.Application:
        self.laboratory = Laboratory(TOKEN, seconds=3_600.0)
        return self.laboratory.app

    def make_agent(self, url: str) -> LabService:
        return self.service_class(f"{url}/{self.service_class.name}", token=TOKEN)

    def effects(self) -> list[str]:
        return self.laboratory.keys(self.service_class.name)


class TestInstruments(LabContract):
    service_class = Instruments
    operation, step = "book", "book-microscope"
    result_fields = (REFERENCE,)
    data = {"instrument": "microscope", "sample": "S-1"}


class TestReports(LabContract):
    service_class = Reports
    operation, step = "publish", "report"
    data = {"sample": "S-1", "batch": "B-1"}
    results = {
        "spectrometry": {"finding": "lead"},
        "microscopy": {"finding": "none"},
        "review": {"choice": "accept", "by": "ada", "note": ""},
    }


class AnalysesContract(LabContract):
    """The agent that has samples analysed."""

    service_class = Analyses
    operation = "analyse"

    def make_agent(self, url: str) -> Analyses:
        return Analyses(f"{url}/analyses", token=TOKEN, own_url="http://127.0.0.1:1", poll_after=60.0)


class TestFastInstrument(AnalysesContract):
    step = "microscopy"
    data = {"instrument": "microscope", "sample": "S-1", "method": "staining"}
    results = {"book-microscope": {"reference": "L1"}}


class TestSlowInstrument(AnalysesContract):
    step = "spectrometry"
    data = {"instrument": "spectrometer", "sample": "S-1", "method": "staining"}
    results = {"book-spectrometer": {"reference": "L2"}}


def test_a_job_is_an_answer_that_comes_later() -> None:
    agent = Analyses("http://127.0.0.1:1", own_url="http://127.0.0.1:1", poll_after=60.0)
    assert agent.read({"finding": "none"}) == {"finding": "none"}
    assert agent.read({"job": "J1"}) == Pending(reference="J1", within=ANALYSED_WITHIN, poll_after=60.0)
