"""The mutants that the tests of `examples/lab` must kill: those of its code, and guards that every business relies on.

The second kind shows that a business with nothing but the kit's tests notices if the engine breaks its word.
"""

from tests.mutants.mutant import ENGINE, Mutant

LAB = "examples/lab"
AGENT_TESTS = f"{LAB}/tests/test_agents.py"
SAMPLE_TESTS = f"{LAB}/tests/test_samples.py"
WORKFLOW_TESTS = f"{LAB}/tests/test_workflow.py"
PLACING = "orders/business/placing.py"

LABORATORY = (
    # Its own code
    Mutant(
        name="lab-a-new-key-for-each-call",
        path=f"{LAB}/agents.py",
        old="key=request.key, body=self.body(request)",
        new="key=__import__('uuid').uuid4().hex, body=self.body(request)",
        test=AGENT_TESTS,
    ),
    Mutant(
        name="lab-a-compensation-of-nothing",
        path=f"{LAB}/agents.py",
        old='body={"reverses": request.reverses}',
        new='body={"reverses": ""}',
        test=AGENT_TESTS,
    ),
    Mutant(
        name="lab-any-operation-is-done",
        path=f"{LAB}/agents.py",
        old="if request.operation != self.operation:",
        new="if False:",
        test=AGENT_TESTS,
    ),
    Mutant(
        name="lab-anything-is-a-sample",
        path=f"{LAB}/workflows.py",
        old="read_text(data.get(name), name, LONGEST)",
        new="data.get(name)",
        test=SAMPLE_TESTS,
    ),
    Mutant(
        name="lab-a-sample-without-its-order",
        path=f"{LAB}/samples.py",
        old="with transaction.atomic():",
        new="if True:",
        test=SAMPLE_TESTS,
    ),
    Mutant(
        name="lab-analysed-twice",
        path=f"{LAB}/samples.py",
        old="key=code)",
        new='key="")',
        test=SAMPLE_TESTS,
    ),
    # Keys and faults at the border of a business
    Mutant(
        name="lab-the-key-is-not-sent",
        path="orders/agents/transport.py",
        old="headers[self._key_header] = key",
        new="pass",
        test=AGENT_TESTS,
    ),
    Mutant(
        name="lab-an-outage-is-a-failure",
        path="orders/agents/answers.py",
        old="if cause in TRANSIENT_STATUSES:",
        new="if False:",
        test=AGENT_TESTS,
    ),
    # Intake
    Mutant(
        name="lab-data-are-not-read",
        path=PLACING,
        old="request=kind.read(data),",
        new="request=data,",
        test=SAMPLE_TESTS,
    ),
    Mutant(
        name="lab-the-key-of-a-start-is-forgotten",
        path=PLACING,
        old="key=own_key(kind, key)).order_id",
        new="key=None).order_id",
        test=SAMPLE_TESTS,
    ),
    Mutant(
        name="lab-another-order-with-the-same-key",
        path=PLACING,
        old="if record.body_hash != body_hash:",
        new="if False:",
        test=SAMPLE_TESTS,
    ),
    # The order of steps, and what becomes of effects
    Mutant(
        name="lab-predecessors-not-awaited",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return is_reversed or all(rows[earlier].state in FINISHED for earlier in declared.after)",
        new="return True",
        test=WORKFLOW_TESTS,
    ),
    Mutant(
        name="lab-compensated-in-any-order",
        path=f"{ENGINE}/scheduler/compensation.py",
        old="elif not blockers:",
        new="else:",
        test=WORKFLOW_TESTS,
    ),
    Mutant(
        name="lab-an-unknown-outcome-is-not-compensated",
        path=f"{ENGINE}/scheduler/compensation.py",
        old="row.outcome in (Outcome.NONE, Outcome.REFUSED)",
        new="row.outcome != Outcome.DONE",
        test=WORKFLOW_TESTS,
    ),
)
