"""The version of Gavial; the only place that names it."""

from typing import Final

VERSION: Final = "0.1.0"
