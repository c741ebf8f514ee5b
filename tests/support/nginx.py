"""Debian's nginx with the configuration of docs/proxy, in front of a test's own web server."""

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.system import free_ports
from tests.support.wait import until

SITE = Path(__file__).resolve().parents[2] / "docs" / "proxy" / "nginx.conf"
PROGRAM = os.environ.get("NGINX") or shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIGURATION = """
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
    include {folder}/site.conf;
}}
"""


class Nginx:
    """A running nginx, on 127.0.0.1."""

    def __init__(self, *, https: int, http: int) -> None:
        self.https = https
        self.http = http

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A connection with TLS from this IP address of the machine."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(("127.0.0.1", self.https), timeout=20, source_address=(source, 0))
        return context.wrap_socket(plain)


@contextlib.contextmanager
def an_nginx(folder: Path, *, port: int, changes: Mapping[str, str]) -> Iterator[Nginx]:
    """Runs nginx in front of the web server at `port` until the block ends.

    Of the site's configuration it changes the ports, the paths of the certificate, and what `changes` says.
    """
    assert PROGRAM, "these tests need nginx"
    nginx = Nginx(https=free_ports(), http=free_ports())
    certificate, key = make_certificate(folder)
    site = SITE.read_text()
    for text, replacement in {
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
        "listen 80;": f"listen 127.0.0.1:{nginx.http};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{nginx.https} ssl http2;",
        "/etc/ssl/shop.example.org/fullchain.pem": str(certificate),
        "/etc/ssl/shop.example.org/privkey.pem": str(key),
        "server 127.0.0.1:8000 ": f"server 127.0.0.1:{port} ",
        **changes,
    }.items():
        assert text in site, f"{SITE} has no {text!r} any more"
        site = site.replace(text, replacement)
    (folder / "site.conf").write_text(site)
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder))
    command = [PROGRAM, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: process.poll() is not None or is_open(nginx.https), what="nginx")
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield nginx
        finally:
            process.terminate()
            process.wait(30)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost, signed by itself, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subject = ["-subj", "/CN=localhost", "-days", "2"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    paths = ["-keyout", str(key), "-out", str(certificate)]
    program = os.environ.get("OPENSSL", "openssl")
    subprocess.run([program, "req", *kind, *subject, *paths], check=True, capture_output=True)
    return certificate, key


def is_open(port: int) -> bool:
    """Whether somebody listens on a port."""
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    return False
