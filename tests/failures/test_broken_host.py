"""One agent host without network beside a healthy one: the orders do not notice."""

from pathlib import Path

import pytest

from orders.models import AgentInstance, Alert, Circuit
from tests.support.ports import free_ports
from tests.support.system import System
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("T1", "A8", "A9")]


def test_orders_go_on_beside_a_host_that_cannot_reach_a_service(tmp_path: Path) -> None:
    """Once the sound host has shown that the service works, it has all the requests of that service."""
    system = System(tmp_path)
    try:
        system.start_all()
        system.place(3)
        assert set(system.wait_until_ended()) == {"processed"}
        broken = system.start("agents", PAYMENTS_URL=f"http://127.0.0.1:{free_ports()}")
        quarantined = AgentInstance.objects.filter(agent="payments", quarantined_at__isnull=False)
        until(lambda: (system.place(4), quarantined.exists())[1], what="the quarantine", seconds=60)
        system.place(20)
        assert set(system.wait_until_ended()) == {"processed"}
        assert Circuit.objects.get(agent="payments").state == "closed"
        assert Alert.objects.filter(order_id__isnull=False).count() == 0
        broken.kill()
        system.check()
    finally:
        system.end()
