"""Certificates of a test: an authority, and what it signs, as PEM files."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A certificate and its key, in files and in memory."""

    certificate: Path
    key_file: Path
    signed: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def name_of(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def make_pair(folder: Path, name: str, *, signer: Pair | None = None, password: bytes = b"") -> Pair:
    """A certificate for 127.0.0.1 that `signer` signs; without one it is an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name_of(name))
        .issuer_name(signer.signed.subject if signer else name_of(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(signer.key if signer else key, hashes.SHA256())
    )
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    certificate, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    )
    return Pair(certificate=certificate, key_file=key_file, signed=signed, key=key)


def server_tls(pair: Pair, *, clients_of: Pair) -> ssl.SSLContext:
    """The settings of a server that takes only clients with a certificate of this authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(clients_of.certificate))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(str(pair.certificate), str(pair.key_file))
    return context
