"""What may be lost when statements go in few trips to the server, and a host claims apart from posting."""

from tests.mutants.mutant import ENGINE, Mutant

HOSTS = "tests/engine/test_agent_host.py"
ROUND_TRIPS = (
    Mutant(
        name="a-refused-step-write-is-committed",
        path=f"{ENGINE}/scheduler/role.py",
        old="            written.result()\n",
        new="",
        test="tests/engine/test_scheduler_batches.py"
        "::test_a_pass_whose_step_has_changed_without_its_lock_is_undone_and_made_again",
    ),
    Mutant(
        name="lost-as-plans-are-renewed-is-no-error-of-django",
        path=f"{ENGINE}/runtime/statements.py",
        old="        with django.wrap_database_errors:\n            _prepare(session)\n",
        new="        _prepare(session)\n",
        test="tests/store/test_statements.py"
        "::test_a_lost_connection_is_an_error_of_django_wherever_it_is_noticed[new plans]",
    ),
    Mutant(
        name="a-full-batch-is-taken-for-all",
        path=f"{ENGINE}/agent_host/role.py",
        old="            self._may_claim = True  # the batch was full, and not the agent\n",
        new="            pass\n",
        test=f"{HOSTS}::test_a_host_whose_batch_is_full_claims_the_rest_at_once",
    ),
    Mutant(
        name="a-full-agent-waits-for-the-next-poll",
        path=f"{ENGINE}/agent_host/role.py",
        old="self._may_claim = self._may_claim or self._is_crowded",
        new="pass",
        test=f"{HOSTS}::test_a_host_whose_agent_was_full_claims_as_soon_as_a_call_ends",
    ),
)
