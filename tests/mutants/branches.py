"""The mutants of branches: what keeps a step from joining too early, and from being decided on anything but facts."""

from tests.mutants.mutant import ENGINE, Mutant

SCHEDULER = f"{ENGINE}/scheduler"
TESTS = "tests/engine/test_branches.py"
PEOPLE = "tests/engine/test_branches_and_people.py"
COMPENSATED = f"{TESTS}::test_items_are_compensated_each_with_its_own_key_after_what_depends_on_them"

BRANCHES = (
    Mutant(
        name="joined-before-the-items-are-added",
        path=f"{SCHEDULER}/progress.py",
        old="if branching.are_added(row, items) and all(item.state in FINISHED for item in items):",
        new="if all(item.state in FINISHED for item in items):",
        test=f"{TESTS}::test_a_step_does_not_join_items_that_are_only_being_added",
    ),
    Mutant(
        name="joined-before-the-items-have-ended",
        path=f"{SCHEDULER}/progress.py",
        old="if branching.are_added(row, items) and all(item.state in FINISHED for item in items):",
        new="if branching.are_added(row, items):",
        test=f"{TESTS}::test_the_next_step_starts_once_all_items_are_completed_and_gets_their_results_in_order",
    ),
    Mutant(
        name="results-in-the-order-of-names",
        path=f"{SCHEDULER}/branching.py",
        old="key=lambda step: step.id",
        new="key=lambda step: step.name",
        test=f"{TESTS}::test_the_next_step_starts_once_all_items_are_completed_and_gets_their_results_in_order",
    ),
    Mutant(
        name="items-added-without-a-park",
        path=f"{SCHEDULER}/branched_order.py",
        old="        self.steps[step.name] = parked\n        self.new_items",
        new="        self.new_items",
        test=f"{TESTS}::test_items_are_added_once_however_often_the_order_is_looked_at",
    ),
    Mutant(
        name="items-left-to-chance",
        path=f"{SCHEDULER}/role.py",
        old="\n            or any(order.needs_another_pass for order in orders)",
        new="",
        test=f"{TESTS}::test_a_scheduler_that_dies_after_it_has_added_the_items_leaves_them_to_another",
    ),
    Mutant(
        name="items-forgotten-until-somebody-acts",
        path=f"{SCHEDULER}/order_pass.py",
        old="        if self.needs_another_pass:\n            waits.append(now)\n",
        new="",
        test=f"{TESTS}::test_a_scheduler_that_dies_after_it_has_added_the_items_leaves_them_to_another",
    ),
    Mutant(
        name="a-condition-asked-after-dispatch",
        path=f"{SCHEDULER}/branching.py",
        old="declared.when is not None and step.attempt == 0 and not is_item(step.name)",
        new="declared.when is not None and not is_item(step.name)",
        test=f"{TESTS}::test_a_step_that_was_sent_is_not_asked_again",
    ),
    Mutant(
        name="a-condition-asked-of-each-item",
        path=f"{SCHEDULER}/branching.py",
        old="declared.when is not None and step.attempt == 0 and not is_item(step.name)",
        new="declared.when is not None and step.attempt == 0",
        test=f"{TESTS}::test_a_condition_is_asked_of_a_step_and_not_of_its_items",
    ),
    Mutant(
        name="decided-without-the-results-of-this-pass",
        path=f"{SCHEDULER}/branched_order.py",
        old="{**read.results, **own}",
        new="read.results",
        test=f"{TESTS}::test_a_condition_is_asked_of_the_result_that_came_in_this_pass",
    ),
    Mutant(
        name="decided-on-what-happens-to-be-there",
        path=f"{SCHEDULER}/branching.py",
        old="{name: facts.results.get(name) for name in sorted(earlier)}",
        new="{**dict.fromkeys(earlier), **facts.results}",
        test=f"{TESTS}::test_a_condition_knows_the_steps_before_it_and_no_others",
    ),
    Mutant(
        name="failing-branches-taken-for-a-broken-release",
        path=f"{SCHEDULER}/branched_order.py",
        old="        except BranchError as error:",
        new="        except ZeroDivisionError as error:",
        test=f"{TESTS}::test_orders_whose_branches_fail_go_into_error_and_hold_up_no_other",
    ),
    Mutant(
        name="a-joint-compensated",
        path=f"{SCHEDULER}/compensation.py",
        old="    if branching.is_joint(row, declared):",
        new="    if False:",
        test=COMPENSATED,
    ),
    Mutant(
        name="items-compensated-before-what-depends-on-them",
        path=f"{SCHEDULER}/compensation.py",
        old="workflow.dependents[declared.name]",
        new="workflow.dependents.get(name, ())",
        test=COMPENSATED,
    ),
    Mutant(
        name="what-items-depend-on-compensated-before-them",
        path=f"{SCHEDULER}/compensation.py",
        old="if declared_name(other) in later}",
        new="if other in later}",
        test=COMPENSATED,
    ),
    Mutant(
        name="notice-of-what-was-never-to-happen",
        path=f"{SCHEDULER}/compensation.py",
        old="    if declared.when is not None and row.state == StepStatus.SKIPPED and not row.attempt:",
        new="    if False:",
        test=f"{TESTS}::test_a_notice_on_a_condition_is_not_sent_about_what_was_never_to_happen",
    ),
    Mutant(
        name="a-joint-skipped-over-its-items",
        path="orders/services/operators/order_acts.py",
        old='(step.awaits or {}).get("kind") == WaitKind.ITEMS',
        new="False",
        test=f"{PEOPLE}::test_a_step_that_waits_for_its_items_is_neither_skipped_settled_nor_hurried",
    ),
    Mutant(
        name="needed-items-skipped",
        path="orders/business/editing.py",
        old="if declared_name(step) in dependent.needs",
        new="if step in dependent.needs",
        test="tests/services/test_operator_orders.py::test_an_item_that_a_later_step_needs_is_not_skipped",
    ),
)
