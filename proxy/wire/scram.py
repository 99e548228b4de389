"""SCRAM-SHA-256 from a verifier: the server's side, and a client that knows only the client key; pure.

The server learns the client key from a right proof (RFC 5802: ClientKey = ClientProof XOR ClientSignature),
and that key, without the password, is all the client's side needs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from catalog.errors import InvalidPassword, ProtocolViolation

MECHANISM: Final = "SCRAM-SHA-256"
_MOCK_ITERATIONS: Final = 4096


@dataclass(frozen=True, slots=True)
class Verifier:
    """What PostgreSQL keeps of a password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def parse_verifier(text: str) -> Verifier | None:
    """Read `SCRAM-SHA-256$iterations:salt$stored_key:server_key`; None for anything else, md5 included."""
    try:
        mechanism, parameters, keys = text.split("$")
        iterations, salt = parameters.split(":")
        stored, server = keys.split(":")
        verifier = Verifier(int(iterations), _decode(salt), _decode(stored), _decode(server))
    except (ValueError, ProtocolViolation):
        return None
    return verifier if mechanism == MECHANISM else None


def mock_verifier(user: str, secret: bytes) -> Verifier:
    """A verifier that no password fits and that is the same each time, for users who have none."""
    seed = hmac.digest(secret, user.encode("utf-8", "surrogateescape"), "sha512")
    return Verifier(_MOCK_ITERATIONS, seed[:16], seed[16:48], seed[32:64])


class ScramServer:
    """Authenticates one client: `challenge` after its first message, `finish` after its last."""

    def __init__(self, verifier: Verifier, client_first: bytes) -> None:
        self._verifier = verifier
        self._gs2_header, self._first_bare = split_gs2(client_first)
        client_nonce = _attributes(self._first_bare).get("r", "")
        if not client_nonce:
            raise ProtocolViolation("malformed SCRAM message")
        self._nonce = client_nonce + base64.b64encode(secrets.token_bytes(18)).decode()
        salt = base64.b64encode(verifier.salt).decode()
        self.challenge = f"r={self._nonce},s={salt},i={verifier.iterations}".encode()

    def finish(self, client_final: bytes, user: str) -> tuple[bytes, bytes]:
        """The client key and the server's final message; InvalidPassword if the proof is wrong."""
        text = client_final.decode("utf-8", "replace")
        without_proof, _, proof_text = text.rpartition(",p=")
        attributes = _attributes(without_proof)
        if _decode(attributes.get("c", "")) != self._gs2_header:
            raise ProtocolViolation("SCRAM channel binding check failed")
        if not hmac.compare_digest(attributes.get("r", "").encode(), self._nonce.encode()):
            raise ProtocolViolation("invalid SCRAM response: nonce does not match")
        signed = f"{self._first_bare},{self.challenge.decode()},{without_proof}".encode()
        signature = hmac.digest(self._verifier.stored_key, signed, "sha256")
        client_key = _xor(_decode(proof_text), signature)
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key):
            raise InvalidPassword(f'password authentication failed for user "{user}"')
        server_signature = hmac.digest(self._verifier.server_key, signed, "sha256")
        return client_key, b"v=" + base64.b64encode(server_signature)


class ScramClient:
    """Proves a client key to a server, without the password behind it."""

    def __init__(self, client_key: bytes, verifier: Verifier) -> None:
        self._client_key = client_key
        self._verifier = verifier
        self._first_bare = "n=,r=" + base64.b64encode(secrets.token_bytes(18)).decode()
        self.first = f"n,,{self._first_bare}".encode()
        self._server_signature = b""

    def respond(self, challenge: bytes) -> bytes:
        """The client's final message, if the server kept to the same verifier."""
        text = challenge.decode("utf-8", "replace")
        attributes = _attributes(text)
        expected = (base64.b64encode(self._verifier.salt).decode(), str(self._verifier.iterations))
        if (attributes.get("s"), attributes.get("i")) != expected:
            raise InvalidPassword("the password was changed while it was being checked")
        nonce = attributes.get("r", "")
        if not nonce.startswith(self._first_bare.removeprefix("n=,r=")):
            raise ProtocolViolation("invalid SCRAM challenge from the upstream server")
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self._first_bare},{text},{without_proof}".encode()
        proof = _xor(self._client_key, hmac.digest(self._verifier.stored_key, signed, "sha256"))
        self._server_signature = hmac.digest(self._verifier.server_key, signed, "sha256")
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """Check that the server knows the verifier too."""
        text = server_final.decode("utf-8", "replace")
        if not hmac.compare_digest(_decode(text.removeprefix("v=")), self._server_signature):
            raise ProtocolViolation("the upstream server's SCRAM signature is wrong")


def split_gs2(client_first: bytes) -> tuple[bytes, str]:
    """The channel-binding header of a client's first message, and the rest."""
    text = client_first.decode("utf-8", "replace")
    flag, authorization, bare = (*text.split(",", 2), "", "")[:3]
    if not flag or not bare:
        raise ProtocolViolation("malformed SCRAM message")
    return f"{flag},{authorization},".encode(), bare


def _attributes(text: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ProtocolViolation("malformed SCRAM message") from None


def _xor(left: bytes, right: bytes) -> bytes:
    if len(left) != len(right):
        raise ProtocolViolation("malformed SCRAM message")
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
