"""The comparison operators of all types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from executors.reference.values.values import Definitions, Value, order_key

# The functions behind each operator: for booleans, numbers, texts, bytes, dates, times, intervals, uuids and
# arrays, and for the pairs of these types that compare without a cast.
_EQUAL: Final = (
    *(60, 61, 62, 63, 65, 67, 158, 159, 184, 240, 247, 287, 293, 299, 305, 467, 474, 744, 852, 1048),
    *(1086, 1145, 1152, 1162, 1718, 1850, 1856, 1948, 2052, 2340, 2366, 2956),
)
_UNEQUAL: Final = (
    *(70, 84, 144, 145, 157, 164, 165, 185, 245, 252, 288, 294, 300, 306, 390, 468, 475, 659, 853),
    *(1053, 1091, 1106, 1153, 1163, 1719, 1851, 1857, 1953, 2053, 2343, 2369, 2959),
)
_LESS: Final = (
    *(56, 64, 66, 160, 161, 241, 248, 289, 295, 301, 307, 391, 469, 476, 655, 716, 740, 854, 1049),
    *(1087, 1102, 1154, 1164, 1246, 1722, 1852, 1858, 1949, 2054, 2338, 2364, 2954),
)
_AT_MOST: Final = (
    *(72, 148, 149, 166, 167, 242, 249, 290, 296, 302, 308, 393, 471, 478, 656, 717, 741, 856, 1050),
    *(1088, 1103, 1155, 1165, 1691, 1723, 1854, 1860, 1950, 2055, 2339, 2365, 2955),
)
_GREATER: Final = (
    *(57, 73, 146, 147, 162, 163, 244, 251, 291, 297, 303, 309, 392, 470, 477, 657, 742, 855, 1051),
    *(1089, 1104, 1157, 1167, 1638, 1720, 1853, 1859, 1951, 2057, 2341, 2367, 2958),
)
_AT_LEAST: Final = (
    *(74, 150, 151, 168, 169, 243, 250, 292, 298, 304, 310, 396, 472, 479, 658, 743, 857, 1052, 1090),
    *(1105, 1156, 1166, 1639, 1692, 1721, 1855, 1861, 1952, 2056, 2342, 2368, 2957),
)


def _by_order(comparison: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: comparison(order_key(left), order_key(right))


def _definitions(name: str, oids: Sequence[int], comparison: Callable[[Any, Any], bool]) -> Definitions:
    return {oid: (name, _by_order(comparison)) for oid in oids}


COMPARISONS: Final[Definitions] = {
    **_definitions("=", _EQUAL, eq),
    **_definitions("<>", _UNEQUAL, ne),
    **_definitions("<", _LESS, lt),
    **_definitions("<=", _AT_MOST, le),
    **_definitions(">", _GREATER, gt),
    **_definitions(">=", _AT_LEAST, ge),
}
