"""The tests of the contract about faults: each answer is the right one, and what it says can be shown and kept."""

import json
from functools import partial

from orders.engine.contracts import Request, Unknown
from orders.engine.errors import Fault, Transient, Unresolved
from orders.testing.basis import ContractBasis, fail_for, title, try_until_done

LONGEST_CODE = 60
LONGEST_MESSAGE = 300
"""Characters of a fault's texts."""
GARBAGE = (
    *(b"", b"no JSON", b"\xff\x00\x1b", b"null", b"[]", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": "\\u0000"}'),
    *(b'{"a": "\\ud800"}', b"[" * 60_000, json.dumps({"a": "x" * 2**20}).encode()),
)
_LOUD = "\x00\x1b[2J\u202e\n\t" + "x" * 100_000
"""What nobody should have to read: control characters, and no end."""


class FaultTests(ContractBasis):
    """Whatever a service answers, the agent says it with one of four faults."""

    def test_each_status_is_its_fault(self) -> None:
        """An answer with a status is the fault that `faults` declares for it, forward and backward."""
        problems = []
        for status, kind in self.faults.items():
            for request in self.directions():
                self.stand_in.answer(status)
                fault = self.fault_of(request, when=f"the service answers {status}")
                if type(fault) is not kind:
                    problems.append(f"{status}: {title(request)} raised {fault!r}, not {kind.__name__}")
        assert not problems, "\n".join(problems)

    def test_a_wait_that_the_service_asks_for_is_passed_on(self) -> None:
        """`Retry-After: 7` at a 429 is a `Transient` with `retry_after=7`."""
        for request in self.directions():
            self.stand_in.answer(429, headers={"Retry-After": "7"})
            fault = self.fault_of(request, when="the service answers 429 with Retry-After: 7")
            wait = getattr(fault, "retry_after", None)
            assert wait == 7, f"{title(request)} raised {fault!r} with retry_after={wait}, not 7"

    def test_a_connection_that_is_cut_leaves_the_outcome_open(self) -> None:
        """Nobody knows whether a call that was cut off was done, so it is not `Refused`."""
        for request in self.directions():
            self.stand_in.cut()
            self._check_open(request, when="the service cuts the connection")

    def test_a_service_that_is_down_leaves_the_outcome_open(self) -> None:
        """A refused connection may pass, and earlier tries may have been done, so it is not `Refused`."""
        with self.stand_in.away() as url:
            for request in self.directions():
                self._check_open(request, when="nobody listens at the url", url=url)

    def test_garbage_is_not_kept(self) -> None:
        """An answer of 200 that cannot be read leaves the outcome open, or the result can be kept all the same."""
        for request in self.directions():
            for body in GARBAGE:
                self.stand_in.answer(200, body)
                when = f"the service answers 200 and {body[:20]!r}"
                try:
                    self.call(request)
                except Fault as fault:
                    _check_kind(fault, when=when, request=request)
                    _check_texts(fault, when=when)
                except AssertionError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the wrong one
                    fail_for(error, when=when, request=request)

    def test_a_fault_can_be_shown(self) -> None:
        """However long or wild an error is, the code has at most 60 characters and the message 300, all printable."""
        errors = (
            json.dumps({"error": {"code": _LOUD, "message": _LOUD}}).encode(),
            json.dumps({"code": _LOUD, "message": _LOUD, "detail": _LOUD, "title": _LOUD}).encode(),
            json.dumps({"error": _LOUD, "error_description": _LOUD}).encode(),
            _LOUD.encode(),
            bytes(range(256)) * 1_000,
        )
        for request in self.directions():
            for status in self.faults:
                for body in errors:
                    self.stand_in.answer(status, body)
                    when = f"the service answers {status} and {body[:20]!r}"
                    _check_texts(self.fault_of(request, when=when), when=when)

    def test_a_lost_answer_is_found_by_the_next_try(self) -> None:
        """The service does it and the answer is lost: the same key gets it, and there is one effect."""
        for request in self.directions():
            self.stand_in.lose_answers()
            self._check_open(request, when="the service does it, and its answer is lost")
            self.stand_in.pass_on()
            self.run(partial(try_until_done, request=request))
            assert self.count(request) == 1, f"{title(request)} had {self.count(request)} effects, not 1"

    def test_an_inquiry_that_fails_claims_nothing(self) -> None:
        """An inquiry that the service cannot answer fails with a fault or says `Unknown`, never `Done` or `NotDone`."""
        request = self.make_request()
        for status, body in ((500, b"{}"), (503, b"{}"), (429, b"{}"), (200, b"no JSON")):
            self.stand_in.answer(status, body)
            when = f"the service answers {status} and {body!r}"
            try:
                finding = self.inquire(request)
            except Fault:
                continue
            except AssertionError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the wrong one
                fail_for(error, when=when, request=request)
            assert isinstance(finding, Unknown), f"{when}: the inquiry says {finding!r}"

    def _check_open(self, request: Request, *, when: str, url: str = "") -> None:
        _check_kind(self.fault_of(request, when=when, url=url), when=when, request=request)


def _check_kind(fault: Fault, *, when: str, request: Request) -> None:
    assert isinstance(fault, Transient | Unresolved), (
        f"{when}: {title(request)} raised {fault!r}; it is unknown whether it was done, so Transient or Unresolved"
    )


def _check_texts(fault: Fault, *, when: str) -> None:
    for name, text, longest in (
        ("code", fault.code, LONGEST_CODE),
        ("message", fault.message, LONGEST_MESSAGE),
    ):
        assert len(text) <= longest, f"{when}: the {name} has {len(text):,} characters, not {longest} at most"
        assert text.isprintable(), f"{when}: the {name} has characters that cannot be shown: {text!r:.100}"
    assert fault.code, f"{when}: the fault has no code"
