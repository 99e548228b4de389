"""What standing queries need of a PostgreSQL server, and the commands that bring what is missing; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from catalog.errors import Error, InsufficientPrivilege, ObjectNotInState

OLDEST: Final = 140000
_MORE: Final = 10
"""The number of additional replication slots, and sender processes, advised where all are in use."""

FACTS: Final = """
    SELECT current_setting('server_version_num')::int AS version,
        split_part(current_setting('server_version'), ' ', 1) AS version_text,
        pg_is_in_recovery() AS is_standby,
        current_setting('wal_level') AS wal_level,
        (SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
            AS most_wal_kept,
        current_setting('max_replication_slots')::int AS most_slots,
        (SELECT count(*)::int FROM pg_replication_slots) AS slots,
        current_setting('max_wal_senders')::int AS most_senders,
        (SELECT count(*)::int FROM pg_stat_replication) AS senders,
        coalesce((SELECT bool_or(true) FROM pg_replication_slots
                  WHERE database = current_database() AND slot_name LIKE 'gavial\\_%%'), false) AS has_slot,
        coalesce((SELECT bool_or(active) FROM pg_replication_slots
                  WHERE database = current_database() AND slot_name LIKE 'gavial\\_%%'), false) AS has_sender,
        current_database()::text AS database,
        r.rolname::text AS login,
        r.rolsuper AS is_superuser,
        r.rolreplication AS replicates,
        (SELECT has_table_privilege(r.oid, c.oid, 'UPDATE') FROM pg_class c
         WHERE c.relname = 'capture'
             AND c.relnamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = 'gavial')) AS writes,
        (SELECT count(*) = 2 FROM pg_roles g
         WHERE g.rolname IN ('pg_read_all_data', 'pg_write_all_data') AND pg_has_role(r.oid, g.oid, 'USAGE'))
            AS reads_all
    FROM pg_roles r WHERE r.rolname = coalesce(%s, current_user)
"""
"""Facts of a server, of the database of a connection and of a login; no row: there is no such login."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts about a server, one database and one login; sizes in bytes.

    `writes`: whether the login may write to Gavial's catalog; None where the database has none.
    """

    version: int
    version_text: str
    is_standby: bool
    wal_level: str
    most_wal_kept: int | None
    most_slots: int
    slots: int
    most_senders: int
    senders: int
    has_slot: bool
    has_sender: bool
    database: str
    login: str
    is_superuser: bool
    replicates: bool
    writes: bool | None
    reads_all: bool


@dataclass(frozen=True, slots=True)
class Lack:
    """One missing prerequisite: its text, commands that bring it, other advice.

    `restart`: the server has to be restarted after these. `is_right`: it is a right of the login, not a state
    of the server. `is_fatal`: no standing query works without it; otherwise that depends on the tables.
    """

    message: str
    commands: str = ""
    advice: str = ""
    restart: bool = False
    is_right: bool = False
    is_fatal: bool = True


def lacks(facts: ServerFacts, *, allow_unbounded_wal: bool = False) -> tuple[Lack, ...]:
    """Everything that is missing."""
    if facts.version < OLDEST:
        oldest = OLDEST // 10000
        message = f"the server is PostgreSQL {facts.version_text}, and Gavial needs {oldest} or newer"
        return (Lack(message, advice="Upgrade the server."),)
    return (*lacks_of_server(facts, allow_unbounded_wal), *lacks_of_login(facts))


def lacks_of_server(facts: ServerFacts, allow_unbounded_wal: bool) -> Iterable[Lack]:
    """What is missing whoever logs in."""
    if facts.is_standby:
        message = "the server is a standby, which accepts no writes"
        yield Lack(message, advice="Name its primary in --upstream.")
    if facts.wal_level != "logical":
        yield Lack(
            f"wal_level is {facts.wal_level}, and capture needs logical",
            "ALTER SYSTEM SET wal_level = 'logical';",
            restart=True,
        )
    if facts.most_wal_kept is not None and facts.most_wal_kept < 0 and not allow_unbounded_wal:
        yield Lack(
            "max_slot_wal_keep_size is -1, so a replication slot could fill the server's disk",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'; SELECT pg_reload_conf();",
            "To leave max_slot_wal_keep_size at -1, start gavial serve with --allow-unbounded-wal.",
        )
    if facts.slots >= facts.most_slots and not facts.has_slot:
        yield Lack(
            f"all replication slots of the server are in use: max_replication_slots is {facts.most_slots}",
            f"ALTER SYSTEM SET max_replication_slots = {facts.most_slots + _MORE};",
            restart=True,
        )
    if facts.senders >= facts.most_senders and not facts.has_sender:
        yield Lack(
            f"all WAL senders of the server are in use: max_wal_senders is {facts.most_senders}",
            f"ALTER SYSTEM SET max_wal_senders = {facts.most_senders + _MORE};",
            restart=True,
        )


def lacks_of_login(facts: ServerFacts) -> Iterable[Lack]:
    """What the login lacks."""
    if facts.is_superuser:
        return
    name = '"' + facts.login.replace('"', '""') + '"'
    if not facts.replicates:
        yield Lack(
            f"the role {name} lacks the attribute REPLICATION",
            f"ALTER ROLE {name} REPLICATION;",
            is_right=True,
        )
    if not facts.writes:
        state = "is not prepared" if facts.writes is None else f"is not prepared for the role {name}"
        yield Lack(
            f'the database "{facts.database}" {state}',
            f"gavial install --upstream '<address, with a superuser's login>' --login '{facts.login}'",
            is_right=True,
        )
    if not facts.reads_all:
        yield Lack(
            f"the role {name} reads and writes only tables of roles that it is a member of",
            f"GRANT pg_read_all_data, pg_write_all_data TO {name};",
            is_right=True,
            is_fatal=False,
        )


def refusal_of(missing: Sequence[Lack]) -> Error:
    """One error about all that is missing, with the commands to run."""
    kind = InsufficientPrivilege if all(lack.is_right for lack in missing) else ObjectNotInState
    if len(missing) == 1:
        return kind(missing[0].message, hint=remedy_of(missing))
    return kind(
        f"standing queries need {len(missing)} things that this server does not have yet",
        detail="; ".join(lack.message for lack in missing) + ".",
        hint=remedy_of(missing),
    )


def remedy_of(missing: Sequence[Lack]) -> str:
    """What to do about all that is missing, in full sentences."""
    commands = " ".join(lack.commands for lack in missing if lack.commands)
    restart = any(lack.restart for lack in missing)
    return " ".join(
        filter(
            None,
            (
                f"Run: {commands}" if commands else "",
                "Then restart the server." if restart else "",
                *(lack.advice for lack in missing),
            ),
        )
    )


def lack_text(lack: Lack) -> str:
    """What is missing and what to do, in one line."""
    return f"{lack.message} ({remedy_of((lack,))})"
