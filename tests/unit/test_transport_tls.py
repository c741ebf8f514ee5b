"""Client certificates and private authorities, against real TLS servers."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from orders.agents import Remote, Transient
from tests.support.certificates import Pair, make_pair, server_tls
from tests.support.remote import BOUND, serving


@dataclass(frozen=True, kw_only=True)
class Files:
    """The authority, the server's certificate, the client's, and one of a stranger."""

    authority: Pair
    server: Pair
    client: Pair
    stranger: Pair


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = make_pair(folder, "authority"), make_pair(folder, "other")
    return Files(
        authority=authority,
        server=make_pair(folder, "server", signer=authority),
        client=make_pair(folder, "client", signer=authority),
        stranger=make_pair(folder, "stranger", signer=other),
    )


def call(files: Files, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The answer of a server that asks for certificates, and the names of the clients that it has answered."""
    names: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        subject = request.transport.get_extra_info("peercert")["subject"]
        names.append(dict(pair for (pair,) in subject)["commonName"])
        return web.json_response({"booked": True})

    async def run() -> dict[str, Any]:
        tls = server_tls(files.server, clients_of=files.authority)
        async with serving(handler, tls=tls) as url:
            remote = Remote(url, **settings)
            try:
                return await remote.post("book", key="k", body={})
            finally:
                await remote.close()

    try:
        return asyncio.run(asyncio.wait_for(run(), BOUND)), names
    except Transient:
        assert names == []
        raise


def paths(pair: Pair) -> dict[str, str]:
    return {"certificate": str(pair.certificate), "key_file": str(pair.key_file)}


def test_a_client_shows_its_certificate(files: Files) -> None:
    answer, names = call(files, **paths(files.client), ca=str(files.authority.certificate))
    assert (answer, names) == ({"booked": True}, ["client"])


def test_the_certificate_and_its_key_may_be_in_one_file(files: Files, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(files.client.certificate.read_bytes() + files.client.key_file.read_bytes())
    _, names = call(files, certificate=str(both), ca=str(files.authority.certificate))
    assert names == ["client"]


def test_a_client_without_a_certificate_is_not_served(files: Files) -> None:
    with pytest.raises(Transient):
        call(files, ca=str(files.authority.certificate))


def test_a_certificate_of_another_authority_is_not_taken(files: Files) -> None:
    with pytest.raises(Transient):
        call(files, **paths(files.stranger), ca=str(files.authority.certificate))


def test_a_server_of_an_unknown_authority_is_not_trusted(files: Files) -> None:
    with pytest.raises(Transient) as caught:
        call(files, **paths(files.client))
    assert caught.value.code == "certificate"


def test_only_the_named_authority_is_trusted(files: Files, tmp_path: Path) -> None:
    with pytest.raises(Transient) as caught:
        call(files, **paths(files.client), ca=str(make_pair(tmp_path, "third").certificate))
    assert caught.value.code == "certificate"


def message_of(url: str = "https://remote.invalid", **settings: str) -> str:
    with pytest.raises(ValueError) as caught:
        Remote(url, **settings)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_missing_or_broken_file_is_named_in_one_line(files: Files, tmp_path: Path) -> None:
    broken, absent = tmp_path / "broken.pem", str(tmp_path / "absent.pem")
    broken.write_text("no certificate")
    certificate, key_file = paths(files.client).values()
    assert message_of(certificate=absent) == f"certificate={absent!r}: No such file or directory"
    assert (
        message_of(certificate=certificate, key_file=absent)
        == f"key_file={absent!r}: No such file or directory"
    )
    assert message_of(ca=str(tmp_path)) == f"ca={str(tmp_path)!r}: Is a directory"
    assert message_of(ca=str(broken)) == f"ca={str(broken)!r}: no PEM certificate"
    assert (
        message_of(certificate=str(broken))
        == f"certificate={str(broken)!r}: no PEM certificate with its unencrypted key"
    )
    other_key = str(files.stranger.key_file)
    assert message_of(certificate=certificate, key_file=other_key) == (
        f"certificate={certificate!r}: no PEM certificate with its unencrypted key in key_file={other_key!r}"
    )
    assert message_of(key_file=key_file) == "key_file needs a certificate"


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_its_password(tmp_path: Path) -> None:
    pair = make_pair(tmp_path, "encrypted", password=b"a password")
    assert "unencrypted key" in message_of(**paths(pair))


def test_a_certificate_is_not_left_unused_by_a_url_without_tls(files: Files) -> None:
    message = message_of("http://remote.invalid", ca=str(files.authority.certificate))
    assert message == "certificate, key_file and ca need a url that starts with https://"
