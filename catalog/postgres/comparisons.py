"""The functions behind PostgreSQL's comparison operators; their oids are the same on every server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from catalog.postgres import types

_SYMBOLS: Final = ("=", "<>", "<", "<=", ">", ">=")
_OIDS: Final = {
    (types.BOOL, types.BOOL): (60, 84, 56, 1691, 57, 1692),
    (types.BYTEA, types.BYTEA): (1948, 1953, 1949, 1950, 1951, 1952),
    (types.CHAR, types.CHAR): (61, 70, 1246, 72, 73, 74),
    (types.NAME, types.NAME): (62, 659, 655, 656, 657, 658),
    (types.INT8, types.INT8): (467, 468, 469, 471, 470, 472),
    (types.INT2, types.INT2): (63, 145, 64, 148, 146, 151),
    (types.INT4, types.INT4): (65, 144, 66, 149, 147, 150),
    (types.TEXT, types.TEXT): (67, 157, 740, 741, 742, 743),
    (types.OID, types.OID): (184, 185, 716, 717, 1638, 1639),
    (types.FLOAT4, types.FLOAT4): (287, 288, 289, 290, 291, 292),
    (types.FLOAT8, types.FLOAT8): (293, 294, 295, 296, 297, 298),
    (types.BPCHAR, types.BPCHAR): (1048, 1053, 1049, 1050, 1051, 1052),
    (types.DATE, types.DATE): (1086, 1091, 1087, 1088, 1089, 1090),
    (types.TIME, types.TIME): (1145, 1106, 1102, 1103, 1104, 1105),
    (types.TIMESTAMP, types.TIMESTAMP): (2052, 2053, 2054, 2055, 2057, 2056),
    (types.TIMESTAMPTZ, types.TIMESTAMPTZ): (1152, 1153, 1154, 1155, 1157, 1156),
    (types.INTERVAL, types.INTERVAL): (1162, 1163, 1164, 1165, 1167, 1166),
    (types.TIMETZ, types.TIMETZ): (1352, 1353, 1354, 1355, 1357, 1356),
    (types.NUMERIC, types.NUMERIC): (1718, 1719, 1722, 1723, 1720, 1721),
    (types.ANYARRAY, types.ANYARRAY): (744, 390, 391, 393, 392, 396),
    (types.UUID, types.UUID): (2956, 2959, 2954, 2955, 2958, 2957),
    (types.ANYENUM, types.ANYENUM): (3508, 3509, 3510, 3512, 3511, 3513),
    (types.JSONB, types.JSONB): (4043, 4038, 4039, 4041, 4040, 4042),
    (types.NAME, types.TEXT): (240, 245, 241, 242, 244, 243),
    (types.TEXT, types.NAME): (247, 252, 248, 249, 251, 250),
    (types.INT8, types.INT2): (1856, 1857, 1858, 1860, 1859, 1861),
    (types.INT8, types.INT4): (474, 475, 476, 478, 477, 479),
    (types.INT2, types.INT8): (1850, 1851, 1852, 1854, 1853, 1855),
    (types.INT2, types.INT4): (158, 164, 160, 166, 162, 168),
    (types.INT4, types.INT8): (852, 853, 854, 856, 855, 857),
    (types.INT4, types.INT2): (159, 165, 161, 167, 163, 169),
    (types.FLOAT4, types.FLOAT8): (299, 300, 301, 302, 303, 304),
    (types.FLOAT8, types.FLOAT4): (305, 306, 307, 308, 309, 310),
    (types.DATE, types.TIMESTAMP): (2340, 2343, 2338, 2339, 2341, 2342),
    (types.TIMESTAMP, types.DATE): (2366, 2369, 2364, 2365, 2367, 2368),
}

COMPARISONS: Final[Mapping[tuple[int, int], Mapping[str, int]]] = {
    sides: dict(zip(_SYMBOLS, oids, strict=True)) for sides, oids in _OIDS.items()
}
"""The function behind each operator, by the types of its sides."""

_OF_ONE_TYPE: Final = {left: functions for (left, right), functions in COMPARISONS.items() if left == right}
EQUAL: Final = {type: functions["="] for type, functions in _OF_ONE_TYPE.items()}
LESS: Final = {type: functions["<"] for type, functions in _OF_ONE_TYPE.items()}
GREATER_INT8: Final = COMPARISONS[types.INT8, types.INT8][">"]
