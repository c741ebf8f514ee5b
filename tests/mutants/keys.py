"""The mutants of keys and inquiries: what keeps an effect from happening twice."""

from tests.mutants.mutant import CHANNELS, ENGINE, Mutant

KEYS = (
    # Keys (P1, P2)
    Mutant(
        name="no-unique-key",
        path=f"{CHANNELS}/submissions.py",
        old="[client, key, reference_hash, body_hash, order_id, ",
        new='[client, f"{key}{order_id}", reference_hash, body_hash, order_id, ',
        test="tests/store/test_submissions.py::test_exactly_one_of_twenty_posts_with_one_key_is_new",
    ),
    Mutant(
        name="no-unique-reference",
        path=f"{CHANNELS}/submissions.py",
        old="[client, key, reference_hash, body_hash, order_id, ",
        new='[client, key, f"{reference_hash}{order_id}"[:64], body_hash, order_id, ',
        test="tests/store/test_references.py::test_exactly_one_of_twenty_posts_with_one_reference_is_new",
    ),
    Mutant(
        name="a-new-id-for-a-lost-order",
        path="orders/business/placing.py",
        old='order_id = derived_order_id(client=client, key=key or f"{_REFERENCE}{order.words.reference}")',
        new="order_id = uuid7()",
        test="tests/services/test_placing.py"
        "::test_a_client_and_key_whose_record_is_lost_have_the_same_id_again",
    ),
    Mutant(
        name="client-and-key-run-together",
        path="orders/business/order_ids.py",
        old='len(name).to_bytes(4, "big") + name',
        new="name",
        test="tests/unit/test_order_ids.py"
        "::test_clients_and_keys_that_read_alike_one_after_the_other_have_different_ids",
    ),
    Mutant(
        name="an-archived-order-placed-again",
        path=f"{ENGINE}/submission.py",
        old="known_orders = state_store.known_orders(scope.touched)",
        new="known_orders = state_store.known_orders([])",
        test="tests/engine/test_known_orders.py",
    ),
    Mutant(
        name="a-cancelled-order-goes-in-alive",
        path=f"{ENGINE}/state_store/writes.py",
        old='"goal": new.submission.goal,',
        new='"goal": "complete",',
        test="tests/services/test_cancelling_early.py",
    ),
    Mutant(
        name="a-cancelled-order-set-aside-again",
        path=f"{ENGINE}/submission.py",
        old="if answer.submission.goal == Goal.COMPENSATE",
        new="if False",
        test="tests/services/test_cancelling_early.py",
    ),
    Mutant(
        name="an-order-placed-again-while-it-is-there",
        path=f"{CHANNELS}/submissions.py",
        old="             WHERE NOT {IS_ANYWHERE}\n         RETURNING",
        new="         RETURNING",
        test="tests/store/test_submissions.py::test_an_order_that_is_anywhere_is_not_posted_again_although_its_key_is_lost",
    ),
    Mutant(
        name="an-order-of-many-placed-again-while-it-is-there",
        path=f"{CHANNELS}/many_submissions.py",
        old="             WHERE NOT {IS_ANYWHERE}\n",
        new="",
        test="tests/store/test_posting_many.py"
        "::test_an_order_that_is_there_although_the_record_of_its_key_is_lost_is_not_posted_again",
    ),
    Mutant(
        name="keys-taken-in-any-order",
        path=f"{CHANNELS}/many_submissions.py",
        old="             ORDER BY client, key\n",
        new="",
        test="tests/store/test_posting_many.py"
        "::test_two_with_the_same_keys_in_opposite_order_never_wait_in_a_circle",
    ),
    Mutant(
        name="a-reused-key-is-a-refusal",
        path="orders/agents/answers.py",
        old="if details.code == KEY_REUSED:",
        new="if not details.code:",
        test="tests/unit/test_transport_faults.py"
        "::test_a_key_that_was_used_with_another_body_is_no_definite_no",
    ),
    Mutant(
        name="no-tombstone",
        path="sandbox/effects.py",
        old="if books.is_barred(call.key):",
        new="if False:",
        test="tests/sandbox/test_reversals.py::test_a_reversal_that_comes_first_bars_the_forward_key",
    ),
    Mutant(
        name="a-new-key-for-every-attempt",
        path=f"{ENGINE}/scheduler/order_pass.py",
        old="key = step.compensation_key() if compensates else step.key()",
        new='key = step.compensation_key() if compensates else f"{step.key()}/{step.attempt}"',
        test="tests/unit/test_order_pass.py::test_an_automatic_retry_is_a_new_attempt_with_the_same_key",
    ),
    Mutant(
        name="key-retention-ignored",
        path=f"{ENGINE}/reversing.py",
        old="return sent_at is None or latest_arrival - sent_at <= timedelta(seconds=declared.key_retention)",
        new="return True",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="a-call-takes-no-time",
        path=f"{ENGINE}/reversing.py",
        old="latest_arrival = now + timedelta(seconds=declared.complete_by + declared.settle)",
        new="latest_arrival = now",
        test="tests/unit/test_dispatch.py"
        "::test_a_step_of_unknown_outcome_is_not_sent_again_once_its_key_may_be_forgotten_before_it_arrives",
    ),
    Mutant(
        name="no-settle-time",
        path=f"{ENGINE}/scheduler/dispatch.py",
        old="return latest(wait, step.settles_at)",
        new="return wait",
        test="tests/unit/test_compensation.py::test_a_call_whose_outcome_is_unknown_is_given_its_settle_time_first",
    ),
    # Releases side by side (rule 10)
    Mutant(
        name="an-older-host-takes-anything",
        path=f"{ENGINE}/channels/leases.py",
        old="AND (agent <> ALL(%(picky)s::text[]) OR agent || '/' || operation = ANY(%(offers)s::text[]))",
        new="",
        test="tests/engine/test_newer_releases.py",
    ),
    # Inquiries (A7)
    Mutant(
        name="unanswered-and-not-asked",
        path=f"{ENGINE}/scheduler/dispatch.py",
        old="    return step.outcome == Outcome.UNKNOWN\n",
        new="    return False\n",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="compensated-again-unasked",
        path=f"{ENGINE}/scheduler/dispatch.py",
        old="return step.compensation_sent_at is not None",
        new="return False",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="repeated-while-it-may-still-be-done",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return dispatch.latest(row.not_before, dispatch.settles_at(row, declared, Goal.COMPLETE, now))",
        new="return row.not_before",
        test="tests/engine/test_inquiries.py"
        "::test_without_keys_a_step_waits_for_its_settle_time_before_it_is_sent_again",
    ),
    Mutant(
        name="compensated-again-too-early",
        path=f"{ENGINE}/scheduler/dispatch.py",
        old="return latest(wait, settles_at(step, declared, Goal.COMPENSATE, now))",
        new="return wait",
        test="tests/engine/test_inquiries.py"
        "::test_without_keys_a_compensation_waits_for_its_settle_time_before_it_is_sent_again",
    ),
    Mutant(
        name="not-done-believed-too-early",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="        elif self.may_be_under_way:",
        new="        elif False:",
        test="tests/unit/test_inquiries.py::test_without_keys_a_call_that_may_be_under_way_is_not_repeated",
    ),
    Mutant(
        name="an-earlier-host-forgotten",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="self._may_be_done = lease.is_repeat or lease.may_be_under_way",
        new="self._may_be_done = lease.is_repeat",
        test="tests/unit/test_inquiries.py::test_a_request_that_has_been_carried_out_already_is_not_sent",
    ),
    Mutant(
        name="an-own-retry-unasked",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="            self._may_be_done = True",
        new="            pass",
        test="tests/unit/test_inquiries.py::test_without_keys_a_lost_reply_is_found_by_asking",
    ),
    Mutant(
        name="a-refused-inquiry-refuses-the-step",
        path=f"{ENGINE}/agent_host/call.py",
        old="                raise CannotAsk(fault.code, fault.message) from fault",
        new="                raise",
        test="tests/unit/test_inquiries.py"
        "::test_without_keys_a_step_whose_service_cannot_be_asked_waits_for_an_operator",
    ),
)
