"""Views under a standing query: what becomes of it when they are replaced (G1, G28)."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.running.servers import Gavial

pytestmark = pytest.mark.service


def status(connection: psycopg.Connection) -> tuple[str, str | None]:
    row = connection.execute(
        "SELECT status, status_detail FROM gavial.standing_queries WHERE name = 'over_view'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_a_replaced_view_is_noticed_and_taken_on_resume(gavial_embedded: Gavial) -> None:
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE under (a int PRIMARY KEY, b int)")
        connection.execute("CREATE VIEW lower AS SELECT a, b FROM under")
        connection.execute("CREATE VIEW upper AS SELECT a FROM lower")
        connection.execute("CREATE STANDING QUERY over_view AS SELECT count(*) FROM upper")
        assert status(connection)[0] == "initialising"
        connection.execute("CREATE VIEW unrelated AS SELECT 1")
        assert status(connection)[0] == "initialising"
        connection.execute("CREATE OR REPLACE VIEW lower AS SELECT a, b FROM under WHERE b > 0")
        assert status(connection) == ("error", "a view that it reads was replaced; RESUME takes the new one")
        connection.execute("ALTER STANDING QUERY over_view RESUME")
        assert status(connection)[0] == "initialising"
        connection.execute(
            "CREATE OR REPLACE STANDING QUERY over_view AS SELECT count(*) FROM upper WHERE a > 1"
        )
        assert status(connection)[0] == "initialising"
        connection.execute("DROP TABLE under CASCADE; DROP VIEW unrelated")


def test_a_view_that_became_unfit_keeps_the_query_in_error(gavial_embedded: Gavial) -> None:
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE under (a float8 PRIMARY KEY)")
        connection.execute("CREATE VIEW lower AS SELECT a FROM under")
        connection.execute("CREATE STANDING QUERY over_view AS SELECT count(*) FROM lower")
        connection.execute("CREATE OR REPLACE VIEW lower AS SELECT random() AS a FROM under")
        assert status(connection)[0] == "error"
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="volatile function random"):
            connection.execute("ALTER STANDING QUERY over_view RESUME")
        connection.execute("DROP TABLE under CASCADE")


def test_a_name_given_up_by_renaming_can_be_taken(gavial_embedded: Gavial) -> None:
    with psycopg.connect(gavial_embedded.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE under (a int PRIMARY KEY); CREATE SCHEMA one")
        connection.execute("CREATE STANDING QUERY one.taken AS SELECT count(*) FROM under")
        connection.execute("ALTER TABLE one.taken RENAME TO given_up")
        connection.execute("CREATE STANDING QUERY one.taken AS SELECT max(a) FROM under")
        connection.execute("ALTER SCHEMA one RENAME TO two; CREATE SCHEMA one")
        connection.execute("CREATE STANDING QUERY one.taken AS SELECT min(a) FROM under")
        names = connection.execute(
            "SELECT s.schema_name || '.' || s.name, c.relname FROM gavial.standing_queries s "
            "JOIN pg_class c ON c.oid = s.view_oid ORDER BY 1"
        ).fetchall()
        assert [name for name, _view in names] == ["one.taken", "two.given_up", "two.taken"]
        assert [view for _name, view in names] == [f"standing query {name}" for name, _view in names]
        connection.execute("DROP SCHEMA one CASCADE; DROP SCHEMA two CASCADE; DROP TABLE under")
