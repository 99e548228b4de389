"""Documents name what is there, and leave no module of the product out."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pytest

from tests.support.checkout import ROOT
from tests.support.named_code import missing
from tests.test_docs import named_paths
from tests.test_layout import FOLDERS, MODULES

TOPS: Final = [*(ROOT / folder for folder in FOLDERS), ROOT / "tests" / "support", ROOT / "benchmarks"]
NAMED: Final = [path for path in MODULES if any(path.is_relative_to(top) for top in TOPS)]


@pytest.mark.parametrize("page", ["architecture", "glossary", "walks"])
def test_all_code_that_a_page_names_is_there(page: str) -> None:
    assert missing((ROOT / "docs" / f"{page}.md").read_text()) == []


def test_the_glossary_is_in_order_and_explains_each_word_once() -> None:
    words = re.findall(r"^\* \*\*(.+?)\*\*: ", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert len(words) > 50
    assert words == sorted(set(words), key=str.lower)


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("`proxy/wire/frames.py`: `ClientFrames.receive`", []),
        ("`proxy/wire/frames.py`: `ClientFrames.take`", ["ClientFrames.take in proxy/wire/frames.py"]),
        ("`catalog/version.py`: `VERSION`, `OTHER`", ["OTHER in catalog/version.py"]),
        ("`catalog/routines/10_wire.sql`: `gavial.tag`", []),
        ("`catalog/routines/10_wire.sql`: `gavial.wait`", ["gavial.wait in catalog/routines/10_wire.sql"]),
        ("`proxy/wire/frames.py`: `gavial.wait`, `gavial.none`", ["gavial.none in proxy/wire/frames.py"]),
        ("`proxy/wire/frames.py`\n```\n`Picture`\n```\n", []),
    ],
)
def test_names_are_looked_for_in_the_file_before_them(text: str, absent: list[str]) -> None:
    assert missing(text) == absent


def test_a_file_that_is_named_has_to_be_there() -> None:
    with pytest.raises(AssertionError, match=r"proxy/none\.py is not there"):
        missing("`proxy/none.py`")


def is_named(module: Path, readme: Path) -> bool:
    """Whether a README names a module from the top or from its own folder, maybe by a pattern."""
    patterns = named_paths(readme.read_text())
    places = [str(module.relative_to(top)) for top in (ROOT, readme.parent)]
    if module.suffix == ".sql":
        places.append(module.name)
    return any(fnmatchcase(place, pattern) for place in places for pattern in patterns)


def nearest_readme(module: Path) -> Path:
    """That of the module's folder, or of the one around it."""
    return next(folder / "README.md" for folder in module.parents if (folder / "README.md").exists())


def test_every_module_is_named_in_the_readme_of_its_folder() -> None:
    modules = [path for path in NAMED if path.name != "__init__.py"]
    assert len(modules) > 300
    modules += (ROOT / "catalog" / "routines").glob("*.sql")
    unnamed = [str(path.relative_to(ROOT)) for path in modules if not is_named(path, nearest_readme(path))]
    assert unnamed == []
