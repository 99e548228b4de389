"""What holds of all commands; no server is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proxy.command.cli import THEMES, gavial
from tests.support.checkout import ROOT

NAMES = [name for names in THEMES.values() for name in names]
WITHOUT_JSON = {"serve", "psql", "completion", "warehouse"}
"""What runs until it is stopped, hands over to another program, prints a script, or has commands below it."""
ARGUMENTS = {
    "show": ["q"],
    "plan": ["q"],
    "curve": ["q"],
    "history": ["q"],
    "refresh": ["q"],
    "suspend": ["q"],
    "resume": ["q"],
    "verify": ["q"],
}
ASKING = [*ARGUMENTS, "status", "queries", "states", "top", "demo", "calibrate", "psql"]


def command_of(name: str) -> click.Command:
    command = gavial.get_command(click.Context(gavial), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_in_the_module_of_its_name(name: str) -> None:
    assert (ROOT / "proxy" / "command" / f"{name}.py").is_file()
    assert command_of(name).name == name


@pytest.mark.parametrize("name", sorted(set(NAMES) - WITHOUT_JSON))
def test_a_command_prints_json(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in command_of(name).params)


def test_commands_below_another_one_print_json() -> None:
    warehouse = command_of("warehouse")
    assert isinstance(warehouse, click.Group)
    for command in warehouse.commands.values():
        assert any("--json" in parameter.opts for parameter in command.params)


def test_help_has_all_commands_by_theme() -> None:
    shown = CliRunner().invoke(gavial, ["--help"]).output
    for theme, names in THEMES.items():
        assert f"{theme}:" in shown
        for name in names:
            assert f"  {name} " in shown


def test_what_is_no_command_is_refused() -> None:
    outcome = CliRunner().invoke(gavial, ["explode"])
    assert outcome.exit_code == 2
    assert "No such command 'explode'" in outcome.output


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gavial", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("name", ASKING)
def test_without_a_server_it_is_said_how_to_start_one(name: str, tmp_path: Path) -> None:
    done = run(name, "--data", tmp_path, *ARGUMENTS.get(name, []))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"gavial: nothing is served from {tmp_path} (Start it: gavial serve --data {tmp_path})\n"
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "--url is not a connection string: "),
        ("postgresql://localhost:1/postgres", "Connection refused"),
        ("postgresql://no-such-host.invalid/postgres", "no-such-host.invalid"),
    ],
)
def test_a_url_that_leads_nowhere_is_said_in_one_line(url: str, says: str) -> None:
    done = run("status", "--url", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("gavial: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status", "--data", "x", "--url", "postgresql://x"], "--data and --url exclude each other"),
        (["verify"], "name the queries to verify, or give --all"),
        (["verify", "q", "--all"], "name the queries to verify, or give --all"),
        (["refresh"], "Missing argument"),
        (["plan", "q", "--set", "FINAL=1"], "'FINAL=1' is not OPTION=VALUE"),
        (["plan", "q", "--set", "FINAL_WORK"], "'FINAL_WORK' is not OPTION=VALUE"),
        (["plan", "q", "--format", "png"], "'png' is not one of"),
        (["history", "q", "--last", "0"], "not in the range"),
        (["calibrate", "--rows", "1"], "not in the range"),
        (["warehouse", "gc", "--older-than", "a while"], "'a while' is no length of time"),
        (["warehouse", "gc", "--older-than", "59 minutes"], "'59 minutes' is less than 1:00:00"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
    ],
)
def test_a_command_line_that_is_none_has_status_2(arguments: list[str], says: str) -> None:
    outcome = CliRunner().invoke(gavial, arguments)
    assert outcome.exit_code == 2
    assert says in outcome.output


def test_url_imports_nothing_that_serve_needs(tmp_path: Path) -> None:
    program = "import sys; from proxy.command.cli import gavial; gavial(sys.argv[1:], standalone_mode=False)"
    heavy = "print(sorted({'pyarrow', 'sqlglot', 'pygal', 'pygraphviz', 'duckdb'} & set(sys.modules)))"
    lines = f"try:\n    exec({program!r})\nexcept Exception: pass\n{heavy}"
    done = subprocess.run(
        [sys.executable, "-c", lines, "url", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_the_command_back(shell: str) -> None:
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_GAVIAL_COMPLETE={shell}_complete" in done.stdout
