"""The mutants of the command for the terminal: what keeps it from losing, doubling or betraying something."""

from tests.mutants.mutant import Mutant

PATH = "sasweb/terminal"
TESTS = "tests/terminal"

TERMINAL = (
    Mutant(
        name="a-new-key-for-each-try",
        path=f"{PATH}/operations.py",
        old="headers = {name: str(value) for name, value in _present(self.headers, values).items()}",
        new="headers = {name: f'{value}-{id(query)}' for name, value in _present(self.headers, values).items()}",
        test=f"{TESTS}/test_orders.py::test_an_order_is_placed_once_however_often_its_key_is_used",
    ),
    Mutant(
        name="a-try-before-its-time",
        path=f"{PATH}/patience.py",
        old="max(error.wait, ",
        new="max(0, ",
        test=f"{TESTS}/test_answers.py::test_an_order_without_an_answer_is_sent_again_with_its_key",
    ),
    Mutant(
        name="a-token-that-follows-a-redirect",
        path=f"{PATH}/server.py",
        old="build_opener(NoRedirect)",
        new="build_opener()",
        test=f"{TESTS}/test_answers.py::test_a_server_that_is_another_one_is_said_to_be",
    ),
    Mutant(
        name="a-stream-from-its-beginning",
        path=f"{PATH}/orders.py",
        old="version = event.event_id",
        new='version = ""',
        test=f"{TESTS}/test_answers.py::test_a_stream_that_breaks_off_goes_on_after_the_last_version",
    ),
    Mutant(
        name="a-body-of-its-own",
        path=f"{PATH}/forwarding.py",
        old="ensure_ascii=False",
        new="ensure_ascii=True",
        test=f"{TESTS}/test_listening.py::test_messages_are_byte_for_byte_those_of_the_servers_webhook",
    ),
    Mutant(
        name="a-message-before-its-forerunner",
        path=f"{PATH}/forwarding.py",
        old="return [messages[0] for messages in self._of_order.values()]",
        new="return [message for messages in self._of_order.values() for message in messages]",
        test=f"{TESTS}/test_listening.py::test_orders_do_not_wait_for_one_that_is_refused",
    ),
)
