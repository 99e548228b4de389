"""Protocol scripts: PostgreSQL answers as recorded, and so does the proxy, however the bytes are cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.recording import RECORDING
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.wire.client_messages import Bind, Execute, Message, Parse, Query, Sync, for_postgres
from tests.support.wire.raw_client import Address, RawClient
from tests.support.wire.script import Script, Send, bytewise, cut_at, play, whole

pytestmark = pytest.mark.service

FOLDER = Path(__file__).parent / "wire"
MAJORS = (15, 18)
LONG = 1000
NEAR = 20

VERSION = re.compile(r'(?<=DataRow )"\d+\.\d+[^"]*"')


def scripts(folder: Path, chosen: Callable[[Script], bool] = bool) -> pytest.MarkDecorator:
    """One test for each script of a folder, or for those chosen."""
    paths = [path for path in sorted(folder.glob("*.pt")) if chosen(Script.read(path))]
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


@pytest.fixture(scope="session")
def direct(postgres15: Server, postgres18: Server) -> dict[str, Address]:
    return {"postgres15": Address.of(postgres15.dsn()), "postgres18": Address.of(postgres18.dsn())}


@pytest.fixture(scope="session")
def proxied(gavial15: Gavial, gavial18: Gavial) -> dict[str, Address]:
    return {"gavial15": Address.of(gavial15.dsn()), "gavial18": Address.of(gavial18.dsn())}


def check(script: Script, played: dict[str, list[tuple[str, ...]]]) -> None:
    """Each server answers as recorded; or record that."""
    if RECORDING:
        script.record(played).write()
    for server, answers in played.items():
        assert RECORDING or answers == script.answers(server), f"{script.path.name} on {server}"


@scripts(FOLDER)
def test_direct(path: Path, direct: dict[str, Address]) -> None:
    """The recordings are PostgreSQL's."""
    script = Script.read(path)
    check(script, {server: play(script, address) for server, address in direct.items()})


@pytest.mark.parametrize("major", MAJORS)
@scripts(FOLDER)
def test_proxied(path: Path, major: int, proxied: dict[str, Address]) -> None:
    """Through the proxy nothing is different."""
    script = Script.read(path)
    assert play(script, proxied[f"gavial{major}"]) == script.answers(f"postgres{major}")


@pytest.mark.parametrize("major", MAJORS)
@scripts(FOLDER)
def test_proxied_bytewise(path: Path, major: int, proxied: dict[str, Address]) -> None:
    """Nor when the client sends byte by byte."""
    script = Script.read(path)
    assert play(script, proxied[f"gavial{major}"], bytewise) == script.answers(f"postgres{major}")


def cuts(script: Script) -> Iterator[int]:
    """Every boundary between two bytes of a block; of a long one those near its ends."""
    sizes = [block.size for block in script.blocks]
    yield from range(1, max((size for size in sizes if size <= LONG), default=NEAR))
    yield from range(-NEAR, 0) if max(sizes) > LONG else ()


@scripts(FOLDER)
def test_proxied_in_two_segments(path: Path, proxied: dict[str, Address]) -> None:
    """Nor when each block arrives in two segments, cut anywhere."""
    script = Script.read(path)
    for offset in cuts(script):
        answers = play(script, proxied["gavial18"], cut_at(offset))
        assert answers == script.answers("postgres18"), f"cut after {offset} bytes"


@pytest.fixture(scope="session")
def encrypted(postgres18: Server) -> Iterator[Address]:
    with gavial("--proxy-only", "--tls-self-signed", upstream=postgres18) as running:
        yield replace(Address.of(running.dsn()), tls=True)


def on_any_connection(script: Script) -> bool:
    """Whether a script neither begins connections of its own nor ends its half of one."""
    return not any("connect" in block.command or "EndOfStream()" in block.messages for block in script.blocks)


@scripts(FOLDER, on_any_connection)
def test_proxied_with_tls(path: Path, encrypted: Address) -> None:
    """Nor when the client's connection is encrypted."""
    script = Script.read(path)
    assert play(script, encrypted) == script.answers("postgres18")


@scripts(FOLDER / "different")
def test_different(path: Path, direct: dict[str, Address], proxied: dict[str, Address]) -> None:
    """What is different by intention is so in no other way than recorded."""
    script = Script.read(path)
    servers = {**direct, **proxied}
    check(script, {server: play(script, address) for server, address in servers.items()})


def as_server_version(client: RawClient, data: bytes) -> None:
    """Ask PostgreSQL for its own version wherever a script asks for Gavial's, in as many bytes."""
    client.send(for_postgres(data))


def as_ours(answers: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Answers with the name of the statement of ours, whichever version they tell."""
    renamed = ([line.replace("server_version", "gavial.version") for line in block] for block in answers)
    return [tuple(VERSION.sub("a version", line) for line in block) for block in renamed]


@scripts(FOLDER / "ours")
def test_ours_direct(path: Path, direct: dict[str, Address]) -> None:
    """The recordings are PostgreSQL's answers to SHOW server_version in the same places."""
    script = Script.read(path)
    check(script, {name: as_ours(play(script, at, as_server_version)) for name, at in direct.items()})


@pytest.mark.parametrize("send", [whole, bytewise], ids=lambda send: send.__name__)
@pytest.mark.parametrize("major", MAJORS)
@scripts(FOLDER / "ours")
def test_ours(path: Path, major: int, send: Send, proxied: dict[str, Address]) -> None:
    """SHOW gavial.version is answered wherever PostgreSQL accepts a SHOW, and as that is."""
    script = Script.read(path)
    assert as_ours(play(script, proxied[f"gavial{major}"], send)) == script.answers(f"postgres{major}")


@scripts(FOLDER / "ours")
def test_ours_in_two_segments(path: Path, proxied: dict[str, Address]) -> None:
    """Also when it is cut anywhere."""
    script = Script.read(path)
    for offset in cuts(script):
        answers = as_ours(play(script, proxied["gavial18"], cut_at(offset)))
        assert answers == script.answers("postgres18"), f"cut after {offset} bytes"


def test_images_of_messages_are_data(proxied: dict[str, Address]) -> None:
    """What looks like a statement or answer of ours inside a value stays as it is, wherever it lies (G21)."""
    with RawClient.session(proxied["gavial18"]) as client:
        client.send(Query("show gavial.version; select current_setting('gavial.nonce')"))
        nonce = [message.body[6:] for message in client.until("Z") if message.kind == "D"][1]
        images = (
            Query("show gavial.version"),
            Parse("", "show gavial.version"),
            Message("N", b"SNOTICE\0CGV001\0M" + nonce + b"\0DFORGED\0\0") + Message("C", "SELECT 1\0"),
            Message("Z", "E"),
        )
        values = [b"x" * shift + image for shift in range(16) for image in images]
        runs = (Bind("", "", value, formats=(1,), results=(1,)) + Execute() for value in values)
        client.send(Parse("", "select $1::bytea") + b"".join(runs) + Sync())
        answers = client.until("Z")
    assert [message.body[6:] for message in answers if message.kind == "D"] == values
    assert {message.body for message in answers if message.kind == "C"} == {b"SELECT 1\0"}
    assert answers[-1].body == b"I"
