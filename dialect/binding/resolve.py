"""Which operator, function or cast PostgreSQL means, by the types of the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from catalog.errors import ELSEWHERE
from catalog.postgres import type_names
from catalog.postgres.signatures import FunctionKind, FunctionSignature, OperatorSignature, Signatures
from catalog.postgres.types import (
    ANY,
    ANYARRAY,
    ANYCOMPATIBLE,
    ANYCOMPATIBLEARRAY,
    ANYCOMPATIBLENONARRAY,
    ANYELEMENT,
    ANYENUM,
    ANYNONARRAY,
    RECORD,
    TEXT,
    UNKNOWN,
)
from dialect.binding.unbindable import refused
from dialect.expressions.scalar import CastMethod

Oids: TypeAlias = tuple[int, ...]

_SAME: Final = frozenset((ANYELEMENT, ANYARRAY, ANYNONARRAY, ANYENUM))
_COMPATIBLE: Final = frozenset((ANYCOMPATIBLE, ANYCOMPATIBLEARRAY, ANYCOMPATIBLENONARRAY))
_ARRAYS: Final = frozenset((ANYARRAY, ANYCOMPATIBLEARRAY))
_NOT_ARRAYS: Final = frozenset((ANYNONARRAY, ANYCOMPATIBLENONARRAY))
_STRING: Final = "S"
_CAST_HINT: Final = "Cast the values to one type."


@dataclass(frozen=True, slots=True)
class Meaning:
    """A signature with its polymorphic types settled: what each argument becomes, and what comes out."""

    signature: OperatorSignature | FunctionSignature
    declared: Oids
    arguments: Oids
    result: int


def find_operator(signatures: Signatures, name: str, given: Oids) -> Meaning:
    """The operator of this name for these arguments (one: prefix)."""
    candidates = [
        meaning
        for operator in signatures.operators.get(name, ())
        if (operator.left != 0) == (len(given) == 2)
        and (meaning := _settled(signatures, operator, (operator.left, operator.right)[-len(given) :], given))
        is not None
    ]
    return _chosen(signatures, candidates, given, f"operator {name}")


def find_function(
    signatures: Signatures, name: str, kinds: Iterable[FunctionKind], given: Oids, *, variadic: bool
) -> Meaning:
    """The function of this name and one of these kinds for these arguments; a variadic one comes second."""
    candidates: dict[Oids, Meaning] = {}
    for function in sorted(signatures.functions.get(name, ()), key=lambda function: function.variadic != 0):
        declared = _declared(signatures, function, len(given), variadic) if function.kind in kinds else None
        meaning = None if declared is None else _settled(signatures, function, declared, given)
        if meaning is not None:
            candidates.setdefault(meaning.declared, meaning)
    return _chosen(signatures, list(candidates.values()), given, f"function {name}")


def find_cast(signatures: Signatures, source: int, target: int) -> tuple[CastMethod, int]:
    """How an explicit cast goes, and the function that does it (0 where none does)."""
    conversion = _conversion(signatures, source, target)
    if conversion is None:
        raise refused(f"a cast from {type_name(signatures, source)} to {type_name(signatures, target)}")
    return conversion


def find_length_function(signatures: Signatures, oid: int) -> int:
    """The function that applies a modifier within a type; 0 where the modifier only labels."""
    cast = signatures.casts.get((oid, oid))
    return 0 if cast is None else cast.function


def common_type(signatures: Signatures, oids: Sequence[int], where: str) -> int:
    """The type that CASE, COALESCE, VALUES and set operations give to values of these."""
    known = [oid for oid in oids if oid != UNKNOWN]
    if not known:
        return TEXT
    chosen = known[0]
    for oid in known[1:]:
        if oid == chosen:
            continue
        one, other = signatures.types[chosen], signatures.types[oid]
        if one.category != other.category:
            raise refused(
                f"{where} of the types {type_name(signatures, chosen)} and {type_name(signatures, oid)}",
                _CAST_HINT,
            )
        if (
            not one.preferred
            and implicitly(signatures, chosen, oid)
            and not implicitly(signatures, oid, chosen)
        ):
            chosen = oid
    if not all(implicitly(signatures, oid, chosen) for oid in known):
        raise refused(f"{where} of the types {', '.join(type_name(signatures, oid) for oid in known)}")
    return chosen


def implicitly(signatures: Signatures, source: int, target: int) -> bool:
    """Whether PostgreSQL casts without being asked."""
    if source in (target, UNKNOWN) or target == ANY:
        return True
    source = _base(signatures, source)
    if source == target:
        return True
    cast = signatures.casts.get((source, target))
    if cast is not None:
        return cast.context == "implicit"
    one, other = signatures.types[source], signatures.types[target]
    return bool(one.element and other.element) and implicitly(signatures, one.element, other.element)


def type_name(signatures: Signatures, oid: int) -> str:
    """How a type is called in messages."""
    return type_names.type_name(signatures.types, oid)


def _declared(signatures: Signatures, function: FunctionSignature, count: int, variadic: bool) -> Oids | None:
    declared = function.arguments
    if function.variadic and not variadic:
        fixed = len(declared) - 1
        if count <= fixed:
            return None
        last = ANY if function.variadic == ANY else _element(signatures, declared[-1])
        return declared[:-1] + (last,) * (count - fixed)
    if variadic and not function.variadic:
        return None
    if len(declared) - function.defaults <= count <= len(declared):
        return declared[:count]
    return None


def _element(signatures: Signatures, array: int) -> int:
    polymorphic = {ANYARRAY: ANYELEMENT, ANYCOMPATIBLEARRAY: ANYCOMPATIBLE}
    return polymorphic.get(array) or signatures.types[array].element


def _settled(
    signatures: Signatures, signature: OperatorSignature | FunctionSignature, declared: Oids, given: Oids
) -> Meaning | None:
    """The signature with its polymorphic types replaced, or None where these arguments do not fit."""
    settled: Oids | None = declared
    result = signature.result
    if not _SAME.isdisjoint((*declared, result)):
        settled = _unified(signatures, declared, given, _SAME, result)
    elif not _COMPATIBLE.isdisjoint((*declared, result)):
        settled = _unified(signatures, declared, given, _COMPATIBLE, result)
    else:
        settled = (*declared, result)
    if settled is None:
        return None
    if not all(_accepts(signatures, type_, oid) for type_, oid in zip(settled, given, strict=False)):
        return None
    return Meaning(signature, declared, settled[:-1], settled[-1])


def _accepts(signatures: Signatures, declared: int, given: int) -> bool:
    signature = signatures.types.get(declared)
    if signature is None or (signature.kind == "p" and declared not in (ANY, given)):
        return False
    return implicitly(signatures, given, declared)


def _unified(
    signatures: Signatures, declared: Oids, given: Oids, family: frozenset[int], result: int
) -> Oids | None:
    """Declared types and result with the family's members replaced by what the arguments say they are."""
    elements = []
    for type_, oid in zip(declared, given, strict=True):
        if type_ not in family:
            continue
        if oid == UNKNOWN:
            return None
        element = signatures.types[_base(signatures, oid)].element
        if (type_ in _ARRAYS and not element) or (type_ in _NOT_ARRAYS and element):
            return None
        if type_ == ANYENUM and signatures.types[oid].kind != "e":
            return None
        elements.append(element if type_ in _ARRAYS else oid)
    if not elements or (family is _SAME and len(set(elements)) > 1):
        return None
    if len({signatures.types[element].category for element in elements}) > 1:
        return None
    element = common_type(signatures, elements, "polymorphic arguments")
    array = signatures.types[element].array
    if not array:
        return None
    replaced = {type_: array if type_ in _ARRAYS else element for type_ in family}
    return tuple(replaced.get(type_, type_) for type_ in (*declared, result))


def _chosen(signatures: Signatures, candidates: list[Meaning], given: Oids, what: str) -> Meaning:
    """The one with most arguments of its very types, then with most of preferred ones, as PostgreSQL does."""
    for exactness in (_exact, _exact_or_preferred):
        if len(candidates) > 1:
            scores = [exactness(signatures, candidate, given) for candidate in candidates]
            candidates = [
                candidate for candidate, score in zip(candidates, scores, strict=True) if score == max(scores)
            ]
    if len(candidates) == 1:
        return candidates[0]
    types = ", ".join(type_name(signatures, oid) for oid in given)
    if candidates:
        raise refused(f"the {what}({types}), which may be one of several", "Cast the arguments.")
    raise refused(f"the {what}({types})", ELSEWHERE)


def _exact(signatures: Signatures, meaning: Meaning, given: Oids) -> int:
    bases = (_base(signatures, oid) for oid in given)
    return sum(declared == oid for declared, oid in zip(meaning.declared, bases, strict=True))


def _exact_or_preferred(signatures: Signatures, meaning: Meaning, given: Oids) -> int:
    return sum(
        declared == oid or _preferred_for(signatures, declared, oid)
        for declared, oid in zip(meaning.declared, given, strict=True)
    )


def _preferred_for(signatures: Signatures, declared: int, given: int) -> bool:
    one, other = signatures.types[declared], signatures.types[given]
    return one.preferred and one.category == other.category


def _base(signatures: Signatures, oid: int) -> int:
    """What a domain is over, or the type itself."""
    while (signature := signatures.types.get(oid)) is not None and signature.base:
        oid = signature.base
    return oid


def _conversion(signatures: Signatures, source: int, target: int) -> tuple[CastMethod, int] | None:
    source = _base(signatures, source)
    if source == target:
        return CastMethod.RELABEL, 0
    cast = signatures.casts.get((source, target))
    if cast is not None:
        return _METHODS[cast.method], cast.function
    one, other = signatures.types[source], signatures.types[target]
    if RECORD in (source, target) or other.kind in ("d", "p"):
        return None
    if one.element and other.element:
        conversion = _conversion(signatures, one.element, other.element)
        return None if conversion is None else (CastMethod.ELEMENTS, conversion[1])
    if _STRING in (one.category, other.category):
        return CastMethod.TEXT, 0
    return None


_METHODS: Final[dict[str, CastMethod]] = {
    "function": CastMethod.FUNCTION,
    "binary": CastMethod.RELABEL,
    "text": CastMethod.TEXT,
}
