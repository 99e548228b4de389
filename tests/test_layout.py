from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

FOLDERS = ("catalog", "dialect", "planner", "sources", "executors", "coordinator", "proxy", "gavial")
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_MODULES = 25

# Written in pieces, so that this file does not name them itself.
REGISTRIES = ("pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.(org|com)", "yarn" + r"pkg\.com")
MACHINE_PATHS = ("/ro" + "ot/", "/wo" + "rk/", "/ho" + r"me/\w", "/opt/" + "py")
FORBIDDEN = re.compile("|".join((*REGISTRIES, *MACHINE_PATHS)))


def files() -> Iterator[Path]:
    """What belongs to the project: what is tracked, and what is new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            yield ROOT / name


FILES = tuple(files())
MODULES = tuple(path for path in FILES if path.suffix == ".py")


def functions(module: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines of every function."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_no_module_is_long() -> None:
    long = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in MODULES}
    assert {path: lines for path, lines in long.items() if lines > MOST_LINES} == {}


def test_no_function_is_long() -> None:
    long = [
        (str(path.relative_to(ROOT)), name, lines)
        for path in MODULES
        for name, lines in functions(path)
        if lines > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


UNSPEAKING_ANYWHERE = {"each"}
UNSPEAKING = {*UNSPEAKING_ANYWHERE, "said", "told", "met", "found", "made", "seen", "ours", "theirs"}


def variables(module: Path) -> Iterator[tuple[str, int]]:
    """Name and line of every variable and parameter; fields of classes are called as columns are."""
    content = ast.parse(module.read_text())
    classes = (node for node in ast.walk(content) if isinstance(node, ast.ClassDef))
    fields = {part.target for node in classes for part in node.body if isinstance(part, ast.AnnAssign)}
    for node in ast.walk(content):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.id, node.lineno
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_variables_are_called_what_they_are() -> None:
    """`column`, `query`, `batch`: a noun, and no word that only says where it came from."""
    places = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        for name, line in variables(path)
        if name in (UNSPEAKING if path.relative_to(ROOT).parts[0] in FOLDERS else UNSPEAKING_ANYWHERE)
    ]
    assert places == []


MOST_ARGUMENTS_WITHOUT_NAMES = 6


def test_many_arguments_have_names() -> None:
    """Nobody sees which of seven values is which; only what `struct` packs has no names."""
    places = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] in FOLDERS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and len(node.args) > MOST_ARGUMENTS_WITHOUT_NAMES
        if ast.unparse(node.func) != "struct.pack"
    ]
    assert places == []


def test_no_folder_is_crowded() -> None:
    """What has more modules is divided into rooms."""
    modules = Counter(str(path.relative_to(ROOT).parent) for path in MODULES if path.name != "__init__.py")
    assert {folder for folder, number in modules.items() if number > MOST_MODULES} == set()


@pytest.mark.parametrize("folder", (*FOLDERS, "tests", "benchmarks"))
def test_every_folder_says_what_it_is(folder: str) -> None:
    readmes = [path for path in FILES if path.name == "README.md" and path.is_relative_to(ROOT / folder)]
    assert ROOT / folder / "README.md" in readmes
    for readme in readmes:
        assert readme.read_text().lower().startswith(f"# {readme.parent.name}\n"), readme


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_room_has_a_readme(folder: str) -> None:
    rooms = {path.parent for path in MODULES if path.is_relative_to(ROOT / folder)}
    assert {str(room.relative_to(ROOT)) for room in rooms if not (room / "README.md").exists()} == set()


def test_packages_hold_a_docstring_only() -> None:
    packages = [path for path in MODULES if path.name == "__init__.py"]
    assert {path.parent.name for path in packages} >= set(FOLDERS)
    for path in packages:
        content = ast.parse(path.read_text())
        assert ast.get_docstring(content), path
        assert len(content.body) == 1, path


def test_no_file_names_a_registry_or_a_place_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in FILES
        for match in FORBIDDEN.finditer(path.read_bytes().decode("utf-8", errors="replace"))
    ]
    assert found == []


def strings(module: Path) -> Iterator[str]:
    """Every string of a module that is no docstring."""
    content = ast.parse(module.read_text())
    docstrings = {node.value for node in ast.walk(content) if isinstance(node, ast.Expr)}
    for node in ast.walk(content):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.value


@pytest.mark.parametrize(
    ("folder", "naming"),
    [("sources", []), ("coordinator", ["server.py"]), ("proxy", ["authentication.py", "startup.py"])],
)
def test_who_needs_what_the_schema_holds_asks_the_catalog(folder: str, naming: list[str]) -> None:
    """No table or function is named elsewhere.

    `server.py` looks for Gavial's statements among those of sessions, `authentication.py` names a function in
    an advice, and `startup.py` has the names of settings.
    """
    modules = [path for path in MODULES if path.is_relative_to(ROOT / folder)]
    named = re.compile(r"\bgavial\.[a-z{]")
    assert sorted(path.name for path in modules if any(map(named.search, strings(path)))) == naming


READERS = {"fetchone", "fetchmany", "fetchall"}


def reads_by_place(module: Path) -> Iterator[int]:
    """The lines in which rows of the database are read by places, or iterated over."""
    content = ast.parse(module.read_text())
    for node in ast.walk(content):
        if isinstance(node, ast.Attribute) and node.attr in READERS:
            yield node.lineno
        if isinstance(node, ast.For | ast.comprehension):
            calls = [call.func for call in ast.walk(node.iter) if isinstance(call, ast.Call)]
            if any(isinstance(call, ast.Attribute) and call.attr == "execute" for call in calls):
                yield node.iter.lineno
            if isinstance(node.iter, ast.Name) and node.iter.id == "cursor":
                yield node.iter.lineno


def test_rows_are_read_by_name() -> None:
    """Through `catalog/rows.py`, and its twin that does not block; SQLite's rows are nobody else's."""
    readers = {"catalog/rows.py", "catalog/async_rows.py", "sources/old_rows/mirror.py"}
    places = [
        f"{name}:{line}"
        for path in MODULES
        if (name := str(path.relative_to(ROOT))).partition("/")[0] in FOLDERS and name not in readers
        for line in reads_by_place(path)
    ]
    assert places == []


def test_no_dataclass_is_spread_into_places() -> None:
    """What is kept or sent has names: a field that is moved must not change what another one means."""
    modules = [path for path in MODULES if path.relative_to(ROOT).parts[0] in FOLDERS]
    assert [path.name for path in modules if "astuple" in path.read_text()] == []


def test_one_helper_alone_asks_whether_tests_record() -> None:
    switch = '"REW' + 'RITE"'
    assert [path.name for path in MODULES if switch in path.read_text()] == ["recording.py"]
