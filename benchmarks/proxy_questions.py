"""The questions about the proxy's cost: what is measured for each, and the targets it is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.support.chart import Panel
from benchmarks.support.loads import Load, idle_connections, transact, transfer
from benchmarks.support.measure import Figures, Reading, Target, by_turn, take_turns
from benchmarks.support.processes import cpu_seconds, memory
from benchmarks.support.ways import DIRECT, GAVIAL, GAVIAL_ONE, OPENERS, PGBOUNCER, Ground, Way, open_way
from tests.support.running.servers import TlsFiles

TRANSACTIONS = "transactions/s"
LATENCY = "latency ms"
ADDED = "added latency ms"
TAIL = "99% latency ms"
PROCESSOR = "CPU us/transaction"
RATE = "MB/s"
PROCESSOR_BULK = "CPU ms/MB"
RESIDENT = "RSS kB/connection"
PROPORTIONAL = "PSS kB/connection"
CONNECTS = "connections/s"

PROTOCOLS = ("simple", "prepared")
CLIENTS = (1, 8, 32)
SMALL = tuple(Load(protocol, clients) for protocol in PROTOCOLS for clients in CLIENTS)
SMALL_TLS = tuple(Load(protocol, 8) for protocol in PROTOCOLS)
RECONNECT = Load("simple", 8, reconnect=True)
ROWS = ("100 B rows", "1 MB rows")
BULK_CASES = tuple(f"{what}, {rows}" for rows in ROWS for what in ("COPY out", "SELECT", "COPY in"))
IDLE_CASE = "idle connections"
CONNECT_CASE = "a connection per transaction"
WARM_CONNECTIONS = 8
PROXIES = (GAVIAL, GAVIAL_ONE)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: what the options of the program say."""

    postgres: int
    scale: int
    turns: int
    seconds: int
    idle: int
    seed: int


@dataclass(frozen=True, slots=True)
class Experiment:
    """The plan and where to carry it out; `directory` has room for the files of the transfers."""

    plan: Plan
    ground: Ground
    certificate: TlsFiles
    directory: Path


@dataclass(frozen=True, slots=True)
class Question:
    """A group of readings with the figures to print, the bounds they are compared with and their pictures."""

    ask: Callable[[Experiment], tuple[Reading, ...]]
    figures: tuple[str, ...]
    targets: tuple[Target, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A bulk transfer: psql's command, what to run before it is timed, and the megabytes that it moves."""

    case: str
    command: str
    before: str
    megabytes: float


def small_case(load: Load) -> str:
    """The name of a case of pgbench."""
    return f"{load.protocol}, {load.clients} client{'s' * (load.clients > 1)}"


def tls_case(load: Load) -> str:
    """The name of the same case with TLS to the client."""
    return f"TLS, {small_case(load)}"


def ask_transactions(experiment: Experiment) -> tuple[Reading, ...]:
    """Every way, both protocols, few and many clients."""
    return _pgbench(experiment, tuple(OPENERS), {small_case(load): load for load in SMALL})


def ask_tls(experiment: Experiment) -> tuple[Reading, ...]:
    """The same with TLS between client and proxy, or client and server."""
    encrypted = replace(experiment, ground=replace(experiment.ground, tls=experiment.certificate))
    ways = (DIRECT, GAVIAL, GAVIAL_ONE, PGBOUNCER)
    return _pgbench(encrypted, ways, {tls_case(load): load for load in SMALL_TLS})


def ask_bulk(experiment: Experiment) -> tuple[Reading, ...]:
    """Large results and COPY in both directions, narrow rows and wide ones."""
    readings: list[Reading] = []
    transfers = _prepare_transfers(experiment)
    with _open_ways(tuple(OPENERS), experiment.ground) as ways:
        for moved in transfers:
            measures = {way.name: partial(_read_transfer, way, experiment.ground, moved) for way in ways}
            readings += take_turns(moved.case, measures, experiment.plan.turns)
    return tuple(readings)


def ask_idle(experiment: Experiment) -> tuple[Reading, ...]:
    """What a proxy grows by for each connection that has run a statement; a new proxy for each reading."""
    names = (GAVIAL, GAVIAL_ONE, PGBOUNCER)
    measures = {name: partial(_read_idle, name, experiment) for name in names}
    return take_turns(IDLE_CASE, measures, experiment.plan.turns)


def ask_connections(experiment: Experiment) -> tuple[Reading, ...]:
    """New connections, each with a SCRAM exchange and one statement."""
    with _open_ways(tuple(OPENERS), experiment.ground) as ways:
        measures = {way.name: partial(_read_connections, way, experiment) for way in ways}
        return take_turns(CONNECT_CASE, measures, experiment.plan.turns)


@contextmanager
def _open_ways(names: Sequence[str], ground: Ground) -> Iterator[tuple[Way, ...]]:
    """All the ways at once, so that turns can go round them."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(open_way(name, ground)) for name in names)


def _pgbench(experiment: Experiment, names: Sequence[str], cases: dict[str, Load]) -> tuple[Reading, ...]:
    """All cases, after a second of warming up in each way."""
    readings: list[Reading] = []
    with _open_ways(names, experiment.ground) as ways:
        for way in ways:
            transact(way.address, SMALL[1], seconds=1, seed=experiment.plan.seed)
        for case, load in cases.items():
            measures = {way.name: partial(_read_pgbench, way, load, experiment) for way in ways}
            readings += take_turns(case, measures, experiment.plan.turns)
    return tuple(_with_added_latency(readings))


def _read_pgbench(way: Way, load: Load, experiment: Experiment, turn: int) -> Figures:
    used = _cpu_seconds(way)
    seen = transact(way.address, load, experiment.plan.seconds, experiment.plan.seed + turn)
    latency = load.clients * 1e3 / seen.per_second
    figures = {TRANSACTIONS: seen.per_second, LATENCY: latency, TAIL: seen.tail_ms}
    if way.proxy is not None:
        figures[PROCESSOR] = (_cpu_seconds(way) - used) * 1e6 / seen.transactions
    return figures


def _read_connections(way: Way, experiment: Experiment, turn: int) -> Figures:
    seen = transact(way.address, RECONNECT, experiment.plan.seconds, experiment.plan.seed + turn)
    return {CONNECTS: seen.per_second}


def _read_transfer(way: Way, ground: Ground, moved: Transfer, _turn: int) -> Figures:
    with ground.address().connect() as connection:
        connection.execute(moved.before)
    used = _cpu_seconds(way)
    seconds = transfer(way.address, moved.command)
    figures = {RATE: moved.megabytes / seconds}
    if way.proxy is not None:
        figures[PROCESSOR_BULK] = (_cpu_seconds(way) - used) * 1e3 / moved.megabytes
    return figures


def _read_idle(name: str, experiment: Experiment, _turn: int) -> Figures:
    with open_way(name, experiment.ground) as way:
        assert way.proxy is not None
        with idle_connections(way.address, WARM_CONNECTIONS):
            before = memory(way.proxy)
            with idle_connections(way.address, experiment.plan.idle):
                after = memory(way.proxy)
    return {
        RESIDENT: (after.resident - before.resident) / experiment.plan.idle,
        PROPORTIONAL: (after.proportional - before.proportional) / experiment.plan.idle,
    }


def _cpu_seconds(way: Way) -> float:
    return 0.0 if way.proxy is None else cpu_seconds(way.proxy)


def _with_added_latency(readings: Sequence[Reading]) -> Iterator[Reading]:
    """Add to each way through a proxy what its latency is above the direct one of the same turn."""
    for reading in readings:
        if reading.way == DIRECT:
            yield reading
        else:
            direct = by_turn(readings, reading.case, DIRECT, LATENCY)[reading.turn]
            added = {ADDED: reading.figures[LATENCY] - direct}
            yield replace(reading, figures={**reading.figures, **added})


def _prepare_transfers(experiment: Experiment) -> tuple[Transfer, ...]:
    """Make the tables, and the files to copy in."""
    rows = 50_000 * experiment.plan.scale
    tables = {
        "100 B rows": ("narrow", f"SELECT * FROM pgbench_accounts WHERE aid <= {rows}"),
        "1 MB rows": ("wide", f"SELECT repeat('x', 1048576) FROM generate_series(1, {rows // 4000})"),
    }
    address = experiment.ground.address()
    transfers: list[Transfer] = []
    with address.connect() as connection:
        for size, (table, query) in tables.items():
            file = experiment.directory / table
            connection.execute(f"CREATE UNLOGGED TABLE {table} AS {query} WITH NO DATA")
            if table == "wide":
                connection.execute("ALTER TABLE wide ALTER repeat SET STORAGE EXTERNAL")
            connection.execute(f"CREATE UNLOGGED TABLE received_{table} (LIKE {table} INCLUDING STORAGE)")
            connection.execute(f"INSERT INTO {table} {query}")
            connection.execute(f"VACUUM ANALYZE {table}")
            transfer(address, f"\\copy {table} to '{file}'")
            megabytes = file.stat().st_size / 1e6
            out, into = f"\\copy {table} to '/dev/null'", f"\\copy received_{table} from '{file}'"
            transfers += [
                Transfer(f"COPY out, {size}", out, "SELECT 1", megabytes),
                Transfer(f"SELECT, {size}", f"SELECT * FROM {table}", "SELECT 1", megabytes),
                Transfer(f"COPY in, {size}", into, f"TRUNCATE received_{table}", megabytes),
            ]
    return tuple(transfers)


def _small_targets() -> Iterator[Target]:
    """PgBouncer with the same kind of upstream is the measure."""
    for load in SMALL:
        case = small_case(load)
        yield Target(case, TRANSACTIONS, GAVIAL, PGBOUNCER, "at least", 0.95 if load.clients == 1 else 1.0)
        yield Target(case, TRANSACTIONS, GAVIAL_ONE, PGBOUNCER, "at least", 0.9)
        for proxy in PROXIES:
            yield Target(case, PROCESSOR, proxy, PGBOUNCER, "at most", 1.1)
            if load.clients == 1:  # With more, latency is clients / throughput: the same target again.
                yield Target(case, ADDED, proxy, PGBOUNCER, "at most", 1.2)


def _bulk_targets() -> Iterator[Target]:
    """A direct connection is the measure."""
    for case in BULK_CASES:
        for proxy in PROXIES:
            yield Target(case, RATE, proxy, DIRECT, "at least", 0.95)


def _small_panels() -> Iterator[Panel]:
    cases = tuple(small_case(load) for load in SMALL)
    for title, figure in (
        ("pgbench -S", TRANSACTIONS),
        ("pgbench -S: mean latency above the direct connection's", ADDED),
        ("pgbench -S: 99th percentile", TAIL),
        ("pgbench -S: the proxy's processes", PROCESSOR),
    ):
        yield Panel(title, figure, cases)


QUESTIONS: Mapping[str, Question] = {
    "transactions": Question(
        ask_transactions,
        (TRANSACTIONS, LATENCY, TAIL, PROCESSOR),
        tuple(_small_targets()),
        tuple(_small_panels()),
    ),
    "bulk": Question(
        ask_bulk,
        (RATE, PROCESSOR_BULK),
        tuple(_bulk_targets()),
        (Panel("Bulk transfers", RATE, BULK_CASES),),
    ),
    "idle": Question(
        ask_idle,
        (RESIDENT, PROPORTIONAL),
        tuple(Target(IDLE_CASE, RESIDENT, proxy, None, "at most", 40.0) for proxy in PROXIES),
        (Panel("Memory of the proxy's processes", RESIDENT, (IDLE_CASE,)),),
    ),
    "connections": Question(
        ask_connections,
        (CONNECTS,),
        tuple(Target(CONNECT_CASE, CONNECTS, proxy, DIRECT, "at least", 0.7) for proxy in PROXIES),
        (Panel("pgbench -S -C", CONNECTS, (CONNECT_CASE,)),),
    ),
    "tls": Question(
        ask_tls,
        (TRANSACTIONS, LATENCY, TAIL, PROCESSOR),
        (),
        (Panel("pgbench -S, TLS to the client", TRANSACTIONS, tuple(tls_case(load) for load in SMALL_TLS)),),
    ),
}
