from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click
import pytest

from proxy.command.cli import gavial
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


def option_table() -> list[str]:
    """The rows of the table that say what `gavial serve --help` says."""
    command = gavial.commands["serve"]
    context = click.Context(command)
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        assert record is not None
        meaning, _, extra = record[1].partition("  [default: ")
        default = extra.rstrip("]").split(";")[0].strip("()")
        rows.append(f"| `{parameter.opts[0]}` | {default} | {meaning} |")
    return rows


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


def test_the_table_of_options_is_the_help_of_serve() -> None:
    readme = ROOT / "README.md"
    head, _, rest = TABLE.split(readme.read_text(), maxsplit=1)
    expected = "".join(f"{row}\n" for row in option_table())
    assert_as_recorded(readme, f"{head}{TABLE_HEAD}{expected}{rest}")


def test_every_command_that_is_named_exists() -> None:
    named = {
        name for document in DOCUMENTS for name in re.findall(r"`gavial (\w+)", (ROOT / document).read_text())
    }
    assert named
    assert named <= set(gavial.commands)


@pytest.mark.parametrize("script", ["setup", "test"])
def test_scripts_say_what_they_do(script: str) -> None:
    done = subprocess.run([ROOT / "scripts" / script, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{script}" in done.stdout
