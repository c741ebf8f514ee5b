"""TLS of a client that shows a certificate of its own, or trusts others than the system does."""

import ssl
from pathlib import Path


def client_tls(*, certificate: str = "", key_file: str = "", ca: str = "") -> ssl.SSLContext | None:
    """Makes the TLS settings of these PEM files, each named by its path; None if there is none.

    `key_file` may be left out if the key, which must not be encrypted, is in the file of the `certificate`. With `ca`
    only its certificates are trusted. Raises `ValueError` in one line if a file is missing or broken.
    """
    if key_file and not certificate:
        raise ValueError("key_file needs a certificate")
    if not certificate and not ca:
        return None
    for name, path in (("certificate", certificate), ("key_file", key_file), ("ca", ca)):
        if path:
            _check_readable(name, path)
    context = _trusting(ca) if ca else ssl.create_default_context()
    if certificate:
        try:
            # With a password of nothing, an encrypted key is an error, and no question at the terminal.
            context.load_cert_chain(certificate, key_file or None, password="")
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(
                f"certificate={certificate!r}: no PEM certificate with its unencrypted key"
                + (f" in key_file={key_file!r}" if key_file else "")
            ) from error
    return context


def _trusting(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise ValueError(f"ca={ca!r}: no PEM certificate") from error


def _check_readable(name: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        raise ValueError(f"{name}={path!r}: {error.strerror or error}") from error
