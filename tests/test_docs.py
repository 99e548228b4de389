from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

import click
import pytest

from proxy.command.cli import THEMES, gavial
from tests.support.checkout import ROOT
from tests.support.recording import assert_as_recorded

DOCUMENTS = sorted(
    {
        path.relative_to(ROOT)
        for pattern in ("*.md", "*/README.md", "*/*/README.md", "*/*/*/README.md", "docs/**/*.md")
        for path in ROOT.glob(pattern)
        if not path.relative_to(ROOT).parts[0].startswith(".")
    }
)
# Made when something runs.
MADE = (".venv", "gavial/app", "benchmarks/out", "driver.log", "start.log", "gavial-data")
FILE = re.compile(r"[\w.*-]+\.(?:py|md|sql|toml|lock|log|pt|ini|json)")
PATH = re.compile(r"(?:\./)?[\w.*-]+(?:/[\w.*-]+)*/?")
TABLE_HEAD = "| option | default | meaning |\n|---|---|---|\n"
COMMANDS_HEAD = "| command | what it does |\n|---|---|\n"
COMMANDS = re.compile(re.escape(COMMANDS_HEAD) + r"((?:\|.*\n)*)")
CLI_HEAD = """# The command line

Made from the commands' own help (`REWRITE=1 pytest tests/test_docs.py`). Every command that prints
takes `--json`; it ends with status 0, with 1 and a reason on standard error, or with 2 for a command
line that is none. `--url` names any Gavial; without it, it is the one of `--data`. Most commands are
clients of the proxy and need no other right than the login has.
"""
TABLE = re.compile(re.escape(TABLE_HEAD) + r"((?:\|.*\n)*)")


def named_paths(text: str) -> set[str]:
    """What a document names as a file or a folder, in code or as a link."""
    spans = re.findall(r"`([^`\n]+)`", text)
    paths = {
        span for span in spans if PATH.fullmatch(span) and (("/" in span.rstrip("/")) or FILE.fullmatch(span))
    }
    links = {link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link}
    return {path for path in paths | links if not path.removeprefix("./").startswith(MADE)}


def exists(path: str, document: Path) -> bool:
    """Whether a name leads somewhere: from the top, the document, its folder, or to a test."""
    folder = ROOT / document.parent
    places = [ROOT.glob(path), folder.glob(path), (ROOT / "tests").glob(path)]
    if folder != ROOT and "/" not in path:
        places += [folder.rglob(path), (ROOT / "tests").rglob(path)]
    return any(any(found) for found in places)


def command_of(*names: str) -> click.Command:
    """A command by its names, as `warehouse gc` has two."""
    command: click.Command = gavial
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


def option_table(*names: str) -> list[str]:
    """The rows of the table that say what `gavial NAME --help` says of options."""
    command = command_of(*names)
    context = click.Context(command)
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Argument) or record is None:  # the usage names arguments
            continue
        meaning, _, extra = record[1].partition("  [default: ")
        default = extra.rstrip("]").split(";")[0].strip("()")
        rows.append(f"| `{parameter.opts[0]}` | {default} | {escaped(meaning)} |")
    return rows


def escaped(text: str) -> str:
    """As a cell of a table has it."""
    return text.replace("|", "\\|")


def command_rows() -> list[str]:
    """A row for each command, with the first sentence of its help."""
    return [
        f"| `gavial {name}` | {escaped(sentences_of(command_of(name))[0].split('; ')[0].rstrip('.'))} |"
        for name in gavial.list_commands(click.Context(gavial))
    ]


def sentences_of(command: click.Command) -> list[str]:
    """The paragraphs of a command's help, each in one line."""
    return [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]


def page_of_commands() -> str:
    """docs/cli.md: for each command its usage, its help and its options."""
    parts = [CLI_HEAD]
    for theme, names in THEMES.items():
        parts.append(f"## {theme}\n")
        for name in names:
            command = command_of(name)
            parts.append(section(name))
            if isinstance(command, click.Group):
                parts += [section(name, inner) for inner in command.commands]
    return "\n".join(parts)


def section(*names: str) -> str:
    """What docs/cli.md has of one command."""
    command = command_of(*names)
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    lines = [f"### gavial {' '.join(names)}\n", f"`gavial {' '.join(names)} {usage}`\n"]
    lines += [f"{textwrap.fill(paragraph, 100)}\n" for paragraph in sentences_of(command)]
    if rows := option_table(*names):
        lines += [TABLE_HEAD.rstrip("\n"), *rows, ""]
    return "\n".join(lines)


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_path_that_is_named_exists(document: Path) -> None:
    named = named_paths((ROOT / document).read_text())
    assert {path for path in named if not exists(path, document)} == set()


def test_every_page_is_in_the_list_of_pages() -> None:
    pages = {str(path.relative_to("docs")) for path in DOCUMENTS if path.parts[0] == "docs"}
    linked = set(re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "README.md").read_text()))
    assert linked == pages - {"README.md"}


def test_design_notes_are_listed_by_their_titles() -> None:
    readme = " ".join((ROOT / "docs" / "README.md").read_text().split())
    for path in sorted((ROOT / "docs" / "design").glob("*.md")):
        number, title = path.read_text().splitlines()[0].removeprefix("# ").split(" ", 1)
        assert f"[{number}](design/{path.name}) {title}" in readme


def test_the_table_of_commands_has_them_all() -> None:
    readme = ROOT / "README.md"
    head, _, rest = COMMANDS.split(readme.read_text(), maxsplit=1)
    expected = "".join(f"{row}\n" for row in command_rows())
    assert_as_recorded(readme, f"{head}{COMMANDS_HEAD}{expected}{rest}")


def test_the_page_of_commands_is_their_help() -> None:
    assert_as_recorded(ROOT / "docs" / "cli.md", page_of_commands())


def test_the_table_of_options_is_the_help_of_serve() -> None:
    readme = ROOT / "README.md"
    head, _, rest = TABLE.split(readme.read_text(), maxsplit=1)
    expected = "".join(f"{row}\n" for row in option_table("serve"))
    assert_as_recorded(readme, f"{head}{TABLE_HEAD}{expected}{rest}")


def test_every_command_that_is_named_exists() -> None:
    named = {
        name for document in DOCUMENTS for name in re.findall(r"`gavial (\w+)", (ROOT / document).read_text())
    }
    assert named
    assert named <= set(gavial.list_commands(click.Context(gavial)))


@pytest.mark.parametrize("script", ["setup", "test"])
def test_scripts_say_what_they_do(script: str) -> None:
    done = subprocess.run([ROOT / "scripts" / script, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{script}" in done.stdout
