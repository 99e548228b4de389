"""Authentication by the matrix of `docs/authentication.md`, as a pure machine: messages in, steps out.

Methods are relayed. What cannot be is a SCRAM proof made over TLS for a server reached over TLS: the client's
flag `y` says "I could have bound the channel, you did not offer it", and a server that can must refuse that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from catalog.errors import Error, FeatureNotSupported, InvalidAuthorization, ProtocolViolation
from proxy.wire.messages import (
    authentication,
    fields_of,
    message,
    parse_sasl_initial,
    sasl_initial,
    sasl_mechanisms,
)
from proxy.wire.scram import MECHANISM, ScramClient, ScramServer, Verifier, split_gs2

LONGEST_ANSWER: Final = 65_535

_OK, _CLEARTEXT, _MD5, _GSS, _GSS_CONTINUE, _SSPI = 0, 3, 5, 7, 8, 9
_SASL, _SASL_CONTINUE, _SASL_FINAL = 10, 11, 12
_PASSWORD_ANSWER, _SASL_ANSWER = "password", "SASL"


@dataclass(frozen=True, slots=True)
class Legs:
    """How the connections on either side of the proxy are protected."""

    client_tls: bool
    client_local: bool
    upstream_tls: bool


@dataclass(frozen=True, slots=True)
class ToClient:
    """Send this to the client."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this to the client and wait for its answer, of the kind that PostgreSQL's messages name."""

    data: bytes
    answer: str


@dataclass(frozen=True, slots=True)
class ToServer:
    """Send this to the server."""

    data: bytes


@dataclass(frozen=True, slots=True)
class NeedVerifier:
    """Look the user's verifier up and call `use_verifier`."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The server let the client in; what follows is the session."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The server refused, in this message; the session is over."""

    data: bytes


Step: TypeAlias = ToClient | Ask | ToServer | NeedVerifier | Authenticated | Rejected


class Authentication:
    """Authenticates one client: what each message of either side leads to."""

    def __init__(self, user: str, legs: Legs, *, allow_trust: bool) -> None:
        self._user = user
        self._legs = legs
        self._challenged = allow_trust
        self._expects_initial = False
        self._client_first = b""
        self._verifier: Verifier | None = None
        self._as_server: ScramServer | None = None
        self._as_client: ScramClient | None = None
        self._server_final = b""

    def from_server(self, kind: int, body: bytes) -> Iterator[Step]:
        """What a message of the server's leads to."""
        match chr(kind):
            case "R" if len(body) >= 4:
                yield from self._request(struct.unpack_from("!i", body)[0], body)
            case "E":
                yield Rejected(message(b"E", self._named(body)))
            case "N":
                yield ToClient(message(b"N", body))
            case _:
                raise ProtocolViolation("unexpected message from the upstream server during authentication")

    def from_client(self, body: bytes) -> Iterator[Step]:
        """What the client's answer (the body of its `p` message) leads to."""
        if self._as_server is not None:
            yield from self._become_client(body)
        elif self._expects_initial:
            self._expects_initial = False
            yield from self._initial(body)
        else:
            yield ToServer(message(b"p", body))

    def use_verifier(self, verifier: Verifier) -> Iterator[Step]:
        """Go on as the SCRAM server with what was looked up."""
        self._verifier = verifier
        self._as_server = ScramServer(verifier, self._client_first)
        yield Ask(authentication(_SASL_CONTINUE, self._as_server.challenge), _SASL_ANSWER)

    def _request(self, code: int, body: bytes) -> Iterator[Step]:
        match code:
            case 0:
                yield from self._let_in()
            case 3:
                self._refuse_exposure()
                yield from self._challenge(body)
            case 5:
                yield from self._challenge(body)
            case 7 | 8 | 9:
                raise FeatureNotSupported(
                    "GSSAPI and SSPI authentication cannot pass through gavial",
                    hint="Let pg_hba.conf of the upstream server ask gavial's address for scram-sha-256.",
                )
            case 10:
                yield from self._offer(body)
            case 11 | 12 if self._as_client is not None:
                yield from self._prove(self._as_client, code, body)
            case 11:
                yield Ask(message(b"R", body), _SASL_ANSWER)
            case 12:
                yield ToClient(message(b"R", body))
            case _:
                raise FeatureNotSupported(f"authentication request {code} cannot pass through gavial")

    def _challenge(self, body: bytes) -> Iterator[Step]:
        self._challenged = True
        yield Ask(message(b"R", body), _PASSWORD_ANSWER)

    def _offer(self, body: bytes) -> Iterator[Step]:
        self._challenged = True
        offered = [name.decode("ascii", "replace") for name in body[4:].split(b"\x00") if name]
        kept = [name for name in offered if not name.endswith("-PLUS")]
        if not kept:
            raise FeatureNotSupported(
                "the upstream server insists on channel binding, which gavial cannot carry"
            )
        self._expects_initial = True
        yield Ask(sasl_mechanisms(kept), _SASL_ANSWER)

    def _initial(self, body: bytes) -> Iterator[Step]:
        mechanism, first = parse_sasl_initial(body)
        if mechanism.endswith("-PLUS"):
            raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
        if mechanism == MECHANISM and self._legs.upstream_tls and split_gs2(first)[0].startswith(b"y"):
            self._client_first = first
            yield NeedVerifier()
        else:
            yield ToServer(message(b"p", body))

    def _become_client(self, body: bytes) -> Iterator[Step]:
        assert self._as_server is not None and self._verifier is not None
        client_key, self._server_final = self._as_server.finish(body, self._user)
        self._as_server = None
        self._as_client = ScramClient(client_key, self._verifier)
        yield ToServer(sasl_initial(MECHANISM, self._as_client.first))

    def _prove(self, client: ScramClient, code: int, body: bytes) -> Iterator[Step]:
        if code == _SASL_CONTINUE:
            yield ToServer(message(b"p", client.respond(body[4:])))
        else:
            client.verify(body[4:])
            yield ToClient(authentication(_SASL_FINAL, self._server_final))

    def _let_in(self) -> Iterator[Step]:
        if not self._challenged:
            raise InvalidAuthorization(
                "the upstream server let gavial in without asking for a password",
                detail="To it, every client of gavial comes from gavial's own address or socket.",
                hint="Ask for scram-sha-256 in its pg_hba.conf, or start gavial with --allow-trust.",
            )
        yield ToClient(authentication(_OK))
        yield Authenticated()

    def _refuse_exposure(self) -> None:
        """A password asked for inside TLS must not travel in the open on the client's side."""
        if self._legs.upstream_tls and not (self._legs.client_tls or self._legs.client_local):
            raise InvalidAuthorization(
                "the upstream server asks for a clear-text password, and this connection has no TLS",
                hint="Connect with sslmode=require.",
            )

    def _named(self, body: bytes) -> bytes:
        """The server's refusal, with a hint where it asks for what only a direct client could show."""
        fields = fields_of(body)
        if fields.get("C") != "28000" or "client certificate" not in fields.get("M", ""):
            return body
        hint = "Certificate authentication cannot pass through gavial; ask its address for scram-sha-256."
        return body[:-1] + b"H" + hint.encode() + b"\x00\x00"


def channel_binding_refused() -> Error:
    """Both legs have TLS, the client could bind the channel, and the verifier cannot be looked up."""
    return InvalidAuthorization(
        "SCRAM with channel binding cannot pass through gavial when both of its legs use TLS",
        hint="Connect with channel_binding=disable, or make the function gavial.verifier(name) "
        "available to gavial's own upstream login (`gavial install`).",
    )
