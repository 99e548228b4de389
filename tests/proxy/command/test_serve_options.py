"""What the `gavial` command says about values that no option can have; nothing is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catalog.errors import ConfigurationError
from dialect.statements.sizes import parse_size, size_text
from executors.machine import LEAST_MEMORY, memory_bytes
from proxy.command.cli import gavial

NOWHERE = "/proc/no/such/place"
"""A data directory that cannot be made: should a value pass, nothing is served either."""


def serve(*arguments: str) -> Result:
    return CliRunner().invoke(gavial, ["serve", "--data", NOWHERE, *arguments])


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--port", "-1", "range 0<=x<=65535"),
        ("--port", "65536", "range 0<=x<=65535"),
        ("--port", "http", "not a valid integer"),
        ("--console-port", "65536", "range 0<=x<=65535"),
        ("--workers", "0", "range 1<=x<=64"),
        ("--workers", "1000000", "range 1<=x<=64"),
        ("--max-connections", "0", "range 1<=x<=262143"),
        ("--max-connections", "9" * 30, "range 1<=x<=262143"),
        ("--startup-seconds", "0", "range 0.1<=x<=86400.0"),
        ("--startup-seconds", "nan", "not a number of seconds"),
        ("--startup-seconds", "inf", "range 0.1<=x<=86400.0"),
        ("--drain-seconds", "-1", "x<=86400.0"),
        ("--drain-seconds", "nan", "not a number of seconds"),
        ("--drain-seconds", "1e300", "x<=86400.0"),
        ("--spark-memory", "3000", "no size such as 3GB"),
        ("--spark-memory", "-3GB", "no size such as 3GB"),
        ("--spark-memory", "3 giga", "no size such as 3GB"),
        ("--spark-memory", "", "no size such as 3GB"),
        ("--spark-memory", "9" * 5000 + "GB", "no size such as 3GB"),
        ("--spark-master", "nonsense://x", "is not local[N], spark://HOST:PORT, yarn or k8s://ADDRESS"),
        ("--spark-master", "local[", "is not local[N]"),
        ("--spark-remote", "http://spark.example", "is not sc://HOST:PORT"),
        ("--socket-dir", "", "the name of a directory is empty"),
        ("--data", "", "the name of a directory is empty"),
        ("--warehouse", "", "is not a directory or a URI"),
        ("--socket-dir", NOWHERE, "does not exist"),
        ("--tls-cert", NOWHERE, "does not exist"),
        ("--log-level", "loud", "is not one of"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(option: str, value: str, says: str) -> None:
    outcome = serve(option, value)
    assert outcome.exit_code == 2
    assert f"Invalid value for '{option}'" in outcome.output
    assert says in " ".join(outcome.output.split())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("3000B", "--spark-memory is 3000B, and Spark needs at least 512MB"),
        ("0", "--spark-memory is 0, and Spark needs at least 512MB"),
        ("511 MB", "--spark-memory is 511MB, and Spark needs at least 512MB"),
        ("100000TB", f"this machine has {size_text(memory_bytes() >> 20 << 20)}"),
    ],
)
def test_memory_with_which_spark_cannot_start_is_refused_with_both_numbers(given: str, says: str) -> None:
    error = serve("--spark-memory", given).exception
    assert isinstance(error, ConfigurationError)
    assert says in error.message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("0", "--in-process-memory is 0, and computing in the process needs at least 64MB"),
        ("65535kB", "--in-process-memory is 65535kB, and computing in the process needs at least 64MB"),
        ("100000TB", f"this machine has {size_text(memory_bytes() >> 20 << 20)}"),
    ],
)
def test_memory_in_which_nothing_can_be_computed_in_the_process_is_refused(given: str, says: str) -> None:
    error = serve("--in-process-memory", given).exception
    assert isinstance(error, ConfigurationError)
    assert says in error.message
    assert error.hint is not None
    assert "--in-process-rows 0" in error.hint
    for elsewhere in (("--engine", "spark"), ("--in-process-rows", "0")):
        ignored = serve("--in-process-memory", given, *elsewhere).exception
        assert isinstance(ignored, ConfigurationError)
        assert ignored.message.startswith("cannot use the data directory")


@pytest.mark.parametrize("given", ["512MB", " 0.5 gb ", "524288kB"])
def test_sizes_are_read_as_postgresql_writes_them(given: str) -> None:
    assert parse_size(given) == LEAST_MEMORY
    error = serve("--spark-memory", given).exception
    assert isinstance(error, ConfigurationError)
    assert error.message.startswith("cannot use the data directory")


def test_memory_is_not_given_to_a_spark_that_runs_elsewhere() -> None:
    outcome = serve("--spark-remote", "sc://spark.example", "--spark-memory", "3GB")
    assert outcome.exit_code == 2
    assert "--spark-memory and --spark-remote exclude each other" in " ".join(outcome.output.split())


@pytest.mark.parametrize(
    ("upstream", "says"),
    [
        ("", "--upstream must name one host"),
        ("nonsense", "--upstream is not a connection string: "),
        ("postgresql://host:port/x", 'port "port" is not a number from 1 to 65535'),
        ("postgresql://host:65536/x", 'port "65536" is not a number from 1 to 65535'),
        ("postgresql://host:0/x", 'port "0" is not a number from 1 to 65535'),
        ("postgresql:///x", "--upstream must name one host"),
        ("postgresql://one,two/x", "--upstream must name one host"),
        ("postgresql://host/x?sslmode=maybe", 'sslmode "maybe" is none of disable, allow'),
        ("postgresql://host/x?nosuch=1", "--upstream is not a connection string: "),
        ("postgresql://host/%zz", "--upstream is not a connection string: "),
        ("postgresql://ho%00st/x", "--upstream is not a connection string: "),
    ],
)
def test_an_address_that_is_none_is_refused(upstream: str, says: str) -> None:
    error = serve("--upstream", upstream).exception
    assert isinstance(error, ConfigurationError)
    assert says in error.message


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("", 'cannot listen on ""'),
        ("256.1.1.1", 'cannot listen on "256.1.1.1"'),
        ("192.0.2.1", "cannot listen on 192.0.2.1 port 0: Cannot assign requested address"),
    ],
)
def test_an_address_that_is_not_this_machines_is_refused(tmp_path: Path, host: str, says: str) -> None:
    data = str(tmp_path / "data")
    outcome = CliRunner().invoke(gavial, ["serve", "--data", data, "--host", host, "--port", "0"])
    assert isinstance(outcome.exception, ConfigurationError)
    assert says in outcome.exception.message
    assert outcome.exception.hint == "Choose another with --host."


def test_an_option_without_effect_is_said_to_have_none() -> None:
    assert "--console-port has no effect yet" in serve("--console-port", "8433").stderr
    assert serve().stderr == ""
