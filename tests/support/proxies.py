"""Debian's nginx and Caddy with the configurations of docs/proxy, in front of a test's own web server."""

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.ports import free_ports
from tests.support.wait import until

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "proxy"
CERTIFICATE, KEY = "certificate.pem", "key.pem"
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site;
}}
"""


class Proxy:
    """A running proxy, on 127.0.0.1 and for the host localhost."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.https = free_ports()
        self.http = free_ports()

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A connection with TLS from this IP address of the machine."""
        plain = socket.create_connection(("127.0.0.1", self.https), timeout=20, source_address=(source, 0))
        return self.context().wrap_socket(plain, server_hostname="localhost")

    def context(self) -> ssl.SSLContext:
        """What a client needs for TLS: it trusts the proxy's certificate alone."""
        return ssl.create_default_context(cafile=self.folder / CERTIFICATE)


@contextlib.contextmanager
def an_nginx(folder: Path, *, port: int, changes: Mapping[str, str]) -> Iterator[Proxy]:
    """Runs nginx in front of the web server at `port` until the block ends.

    Of the site's configuration it changes the ports, the host, the paths of the certificate, and what `changes` says.
    """
    proxy = Proxy("nginx", folder)
    replacements = {
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
        "listen 80;": f"listen 127.0.0.1:{proxy.http};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{proxy.https} ssl http2;",
        "/etc/ssl/shop.example.org/fullchain.pem": str(folder / CERTIFICATE),
        "/etc/ssl/shop.example.org/privkey.pem": str(folder / KEY),
        "shop.example.org": "localhost",
        "server 127.0.0.1:8000 ": f"server 127.0.0.1:{port} ",
    }
    write_site(folder, "nginx.conf", {**replacements, **changes})
    main = folder / "nginx.conf"
    main.write_text(NGINX.format(folder=folder))
    with running(proxy, [program(proxy.name), "-p", str(folder), "-e", "stderr", "-c", str(main)]):
        yield proxy


@contextlib.contextmanager
def a_caddy(folder: Path, *, port: int, changes: Mapping[str, str]) -> Iterator[Proxy]:
    """Runs Caddy in front of the web server at `port` until the block ends.

    Of the site's configuration it changes the ports, the host, the source of the certificate, and what `changes` says.
    """
    proxy = Proxy("caddy", folder)
    ports = f"http_port {proxy.http}\n\thttps_port {proxy.https}\n\tdefault_bind 127.0.0.1"
    replacements = {
        "{\n\tservers {": f"{{\n\tadmin off\n\t{ports}\n\tservers {{",
        "\nshop.example.org {": f"\nshop.example.org {{\n\ttls {folder / CERTIFICATE} {folder / KEY}",
        "shop.example.org": "localhost",
        "reverse_proxy 127.0.0.1:8000 ": f"reverse_proxy 127.0.0.1:{port} ",
    }
    site = write_site(folder, "Caddyfile", {**replacements, **changes})
    with running(proxy, [program(proxy.name), "run", "--adapter", "caddyfile", "--config", str(site)]):
        yield proxy


def program(name: str) -> str:
    """The path of a proxy's program."""
    path = os.environ.get(name.upper()) or shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert path, f"these tests need {name}"
    return path


def write_site(folder: Path, name: str, replacements: Mapping[str, str]) -> Path:
    """Writes a configuration of docs/proxy with these changes, and a certificate for it, into a folder."""
    site = (FOLDER / name).read_text()
    for text, replacement in replacements.items():
        assert text in site, f"{name} has no {text!r} any more"
        site = site.replace(text, replacement)
    path = folder / "site"
    path.write_text(site)
    make_certificate(folder)
    return path


def make_certificate(folder: Path) -> None:
    """Makes a certificate for localhost, signed by itself, and its key.

    The key is RSA, with which every cipher is possible, and only the configuration decides.
    """
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes"]
    paths = ["-keyout", str(folder / KEY), "-out", str(folder / CERTIFICATE)]
    openssl = os.environ.get("OPENSSL", "openssl")
    subprocess.run([openssl, "req", *kind, *subject, *paths], check=True, capture_output=True)


@contextlib.contextmanager
def running(proxy: Proxy, command: list[str]) -> Iterator[None]:
    """Runs a proxy, from when it takes connections until the block ends. What it prints goes to `log` in its folder."""
    log = proxy.folder / "log"
    env = {**os.environ, "XDG_DATA_HOME": str(proxy.folder), "XDG_CONFIG_HOME": str(proxy.folder)}
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=env, stdout=output, stderr=output) as process,
    ):
        try:
            until(lambda: process.poll() is not None or is_open(proxy.https), what=command[0])
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.kill()
            process.wait(30)


def is_open(port: int) -> bool:
    """Whether somebody listens on a port."""
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    return False
