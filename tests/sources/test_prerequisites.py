"""What is said about a server that lacks what standing queries need: all of it, with the commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.errors import InsufficientPrivilege, ObjectNotInState
from sources.server.prerequisites import ServerFacts, lack_text, lacks, refusal_of

GOOD = ServerFacts(
    version=180000,
    version_text="18.0",
    is_standby=False,
    wal_level="logical",
    most_wal_kept=4 << 30,
    most_slots=10,
    slots=3,
    most_senders=10,
    senders=3,
    has_slot=False,
    has_sender=False,
    database="app",
    login='the "login"',
    is_superuser=False,
    replicates=True,
    writes=True,
    reads_all=True,
)


def test_a_server_that_has_everything_is_not_remarked_upon() -> None:
    assert lacks(GOOD) == ()


@pytest.mark.parametrize(
    ("facts", "message", "remedy"),
    [
        (
            replace(GOOD, version=130011, version_text="13.11"),
            "the server is PostgreSQL 13.11, and Gavial needs 14 or newer",
            "Upgrade the server.",
        ),
        (
            replace(GOOD, is_standby=True),
            "the server is a standby, which accepts no writes",
            "Name its primary in --upstream.",
        ),
        (
            replace(GOOD, wal_level="replica"),
            "wal_level is replica, and capture needs logical",
            "Run: ALTER SYSTEM SET wal_level = 'logical'; Then restart the server.",
        ),
        (
            replace(GOOD, most_wal_kept=-1),
            "max_slot_wal_keep_size is -1, so a replication slot could fill the server's disk",
            "Run: ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'; SELECT pg_reload_conf(); "
            "To leave max_slot_wal_keep_size at -1, start gavial serve with --allow-unbounded-wal.",
        ),
        (
            replace(GOOD, slots=10),
            "all replication slots of the server are in use: max_replication_slots is 10",
            "Run: ALTER SYSTEM SET max_replication_slots = 20; Then restart the server.",
        ),
        (
            replace(GOOD, most_senders=0, senders=0),
            "all WAL senders of the server are in use: max_wal_senders is 0",
            "Run: ALTER SYSTEM SET max_wal_senders = 10; Then restart the server.",
        ),
        (
            replace(GOOD, replicates=False),
            'the role "the ""login""" lacks the attribute REPLICATION',
            'Run: ALTER ROLE "the ""login""" REPLICATION;',
        ),
        (
            replace(GOOD, writes=None),
            'the database "app" is not prepared',
            "Run: gavial install --upstream '<address, with a superuser's login>' --login 'the \"login\"'",
        ),
        (
            replace(GOOD, reads_all=False),
            'the role "the ""login""" reads and writes only tables of roles that it is a member of',
            'Run: GRANT pg_read_all_data, pg_write_all_data TO "the ""login""";',
        ),
    ],
)
def test_each_thing_that_is_missing(facts: ServerFacts, message: str, remedy: str) -> None:
    (lack,) = lacks(facts)
    assert lack_text(lack) == f"{message} ({remedy})"
    error = refusal_of([lack])
    assert (error.message, error.detail, error.hint) == (message, None, remedy)
    assert isinstance(error, InsufficientPrivilege if lack.is_right else ObjectNotInState)


def test_what_is_there_already_needs_no_room() -> None:
    assert lacks(replace(GOOD, slots=10, senders=10, has_slot=True, has_sender=True)) == ()


def test_wal_without_bound_may_be_allowed() -> None:
    assert lacks(replace(GOOD, most_wal_kept=-1), allow_unbounded_wal=True) == ()


def test_a_superuser_lacks_no_right() -> None:
    alone = replace(GOOD, is_superuser=True, replicates=False, writes=None, reads_all=False)
    assert lacks(alone) == ()


def test_everything_is_told_at_once() -> None:
    bare = replace(GOOD, wal_level="minimal", most_senders=0, senders=0, replicates=False, login="g")
    error = refusal_of(lacks(bare))
    assert error.sqlstate == "55000"
    assert error.message == "standing queries need 3 things that this server does not have yet"
    assert error.detail == (
        "wal_level is minimal, and capture needs logical; "
        "all WAL senders of the server are in use: max_wal_senders is 0; "
        'the role "g" lacks the attribute REPLICATION.'
    )
    assert error.hint == (
        "Run: ALTER SYSTEM SET wal_level = 'logical'; ALTER SYSTEM SET max_wal_senders = 10; "
        'ALTER ROLE "g" REPLICATION; Then restart the server.'
    )
