"""A web process that cannot reach its database says when to come back: soon at first, then later and later."""

from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ports import free_ports
from tests.support.wait import until
from tests.web.server import Answer, Server


def test_the_longer_a_web_process_cannot_reach_the_database_the_later_clients_come_back(
    tmp_path: Path,
) -> None:
    server = Server(
        tmp_path / "log",
        database_url=f"postgresql://nobody@127.0.0.1:{free_ports()}/nothing",
        LIMITS="",
        METRICS_OPEN="true",
    )

    def ask(path: str) -> Answer:
        answer = server.request("GET", path, timeout=60)
        assert answer.status == 503
        return answer

    try:
        until(server.answers, what="the server")
        assert ask("/api/v1/products").headers["retry-after"] in ("1", "2")
        until(lambda: int(ask("/api/v1/products").headers["retry-after"]) > 4, what="a longer wait")
        page = ask("/")
        assert int(page.headers["retry-after"]) > 2
        assert page.headers["refresh"] == page.headers["retry-after"]
        local = server.request("GET", "/metrics", headers={"Host": "localhost"}, timeout=60)
        assert (local.status, local.body.startswith(b"the database ")) == (503, True)
        problem = urlsplit(ask("/api/v1/products").json["type"]).path
        for path in ("/api/schema/", "/api/docs/", "/api/problems/", problem):
            assert server.request("GET", path, timeout=60).status == 200
    finally:
        server.end()
