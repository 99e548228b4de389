"""Graphs as pictures: DOT, drawn by the Graphviz that pygraphviz brings along."""

from __future__ import annotations

import os
import tempfile

import pygraphviz

from catalog.errors import InternalError


def svg_of_dot(dot: str) -> str:
    """A graph as SVG; what libraries below Graphviz print is told only if it fails."""
    with tempfile.TemporaryFile() as printed:
        standard_error = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            drawn: bytes = pygraphviz.AGraph(string=dot).draw(format="svg", prog="dot")
        except (OSError, ValueError, RuntimeError) as error:
            printed.seek(0)
            texts = printed.read().decode(errors="replace")
            raise InternalError(f"the plan cannot be drawn: {error} {texts}".strip()) from None
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)
    return drawn.decode()
