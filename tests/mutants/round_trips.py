"""What may be lost when statements go in few trips to the server, and a host claims apart from posting."""

from tests.mutants.mutant import ENGINE, Mutant

HOSTS = "tests/engine/test_agent_host.py"
ROUND_TRIPS = (
    Mutant(
        name="a-refused-step-write-is-committed",
        path=f"{ENGINE}/state_store/writes.py",
        old="CASE WHEN count(*) <> %(number)s::int",
        new="CASE WHEN count(*) > %(number)s::int",
        test="tests/engine/test_scheduler_batches.py"
        "::test_a_pass_whose_step_has_changed_without_its_lock_is_undone_and_made_again",
    ),
    Mutant(
        name="a-pipelined-transaction-commits-what-is-to-be-rolled-back",
        path=f"{ENGINE}/runtime/statements.py",
        old="            if not connection.needs_rollback:\n                _commit(session)\n",
        new="            _commit(session)\n",
        test="tests/store/test_pipelines.py"
        "::test_nothing_of_a_pipelined_transaction_is_kept_after_an_error[that is put off]",
    ),
    Mutant(
        name="a-pipelined-transaction-commits-apart-from-the-one-around-it",
        path=f"{ENGINE}/runtime/statements.py",
        old="if connection.in_atomic_block or connection.execute_wrappers:",
        new="if connection.execute_wrappers:",
        test="tests/store/test_pipelines.py::test_a_pipelined_transaction_inside_another_ends_with_it",
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
        name="a-changed-column-ends-a-host",
        path=f"{ENGINE}/runtime/sql.py",
        old="(OperationalError, InterfaceError, InternalError, NotSupportedError)",
        new="(OperationalError, InterfaceError, InternalError)",
        test="tests/engine/test_changed_columns.py"
        "::test_an_agent_host_goes_on_when_a_column_of_its_requests_has_changed_its_type",
    ),
    Mutant(
        name="a-changed-column-is-blamed-on-orders",
        path=f"{ENGINE}/runtime/sql.py",
        old="        return _was_prepared_too_early(error)\n",
        new="        return False\n",
        test="tests/engine/test_changed_columns.py"
        "::test_a_scheduler_goes_on_and_blames_nobody_when_a_column_of_its_steps_has_changed_its_type",
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
