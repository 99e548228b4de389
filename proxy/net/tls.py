"""TLS contexts for both legs, and the certificate that `--tls-self-signed` makes."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from catalog.errors import ConfigurationError
from proxy.settings import Upstream

ALPN: Final = "postgresql"
_LIFETIME: Final = datetime.timedelta(days=825)


def server_context(cert: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 or newer with the operator's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([ALPN])
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"cannot use the TLS certificate {cert} with the key {key}: {error}"
        ) from None
    return context


def upstream_context(upstream: Upstream) -> ssl.SSLContext:
    """TLS to the server, checking as much as its sslmode says."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([ALPN])
    context.check_hostname = upstream.sslmode == "verify-full"
    verifying = upstream.sslmode in ("verify-ca", "verify-full") or (
        upstream.sslmode == "require" and upstream.sslrootcert != ""
    )
    context.verify_mode = ssl.CERT_REQUIRED if verifying else ssl.CERT_NONE
    if verifying:
        _trust(context, upstream.sslrootcert)
    return context


def _trust(context: ssl.SSLContext, roots: str) -> None:
    if roots in ("", "system"):
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    try:
        context.load_verify_locations(roots)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"cannot read the root certificates {roots}: {error}") from None


def self_signed(directory: Path) -> tuple[str, str]:
    """Paths of a certificate for this machine and its key, made once."""
    cert_path, key_path = directory / "server.crt", directory / "server.key"
    if not (cert_path.exists() and key_path.exists()):
        key = ec.generate_private_key(ec.SECP256R1())
        _write_private(
            key_path,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        _write_private(cert_path, _certificate(key).public_bytes(serialization.Encoding.PEM))
    return str(cert_path), str(key_path)


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = (
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
    )
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
