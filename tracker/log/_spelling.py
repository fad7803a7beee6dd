"""Canonical JSON of events that come in numbers, all alike: what a set of keys needs is found out once."""

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from math import copysign
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from schemas import LARGEST_EXACT_INTEGER, canonical_json

TEMPLATES = 256
"""Sets of keys that are remembered; an event type has one, whatever its values."""

_Template = tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]

_Kinds = tuple[tuple[str, ...], tuple[type, ...]]
"""The keys of an object and the types of their values."""

SCALARS = frozenset({str, int, float, bool, type(None)})
LISTS = frozenset({list, tuple})
OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


class _Flat(NamedTuple):
    """Where a flat object has its floats, and its lists of scalars."""

    floats: tuple[str, ...]
    lists: tuple[str, ...]


class Speller:
    """`canonical_json`, to the byte, several times as fast for objects whose keys it has seen."""

    def __init__(self) -> None:
        self._flats: dict[_Kinds, _Flat | None] = {}
        self._last: _Kinds | None = None
        self._flat: _Flat | None = None
        self._templates: dict[tuple[str, ...], _Template] = {}
        self._spell: dict[type, Callable[[Any], str]] = {
            str: encode_basestring,
            int: _integer,
            float: _number,
            bool: {True: "true", False: "false"}.__getitem__,
            type(None): {None: "null"}.__getitem__,
            list: self._list,
            tuple: self._list,
            dict: self._object,
        }

    def spell(self, data: Mapping[str, Any]) -> bytes:
        """The canonical JSON of an object.

        Raises:
            InvalidInputError: as `canonical_json`.

        """
        flat = self.spell_flat(data)
        if flat is not None:
            return flat
        try:
            return self._object(data).encode()
        except (KeyError, ValueError, TypeError, RecursionError):
            # Whatever is out of the common run is for the reference to spell or to refuse.
            return canonical_json(dict(data))

    def spell_flat(self, data: Mapping[str, Any]) -> bytes | None:
        """The canonical JSON of scalars and lists of scalars, where orjson spells it as RFC 8785 does.

        It does but for floats that are whole (written as integers here), very small or very large (they get
        an exponent early), and NaN; for those the answer is None, as for all that is not flat.
        """
        kinds = (tuple(data), tuple(map(type, data.values())))
        if kinds != self._last:
            self._last, self._flat = kinds, self._look(kinds, data)
        flat = self._flat
        if flat is None:
            return None
        numbers = [data[key] for key in flat.floats]
        for key in flat.lists:
            numbers += data[key]
        whole = _count_whole(numbers)
        if whole < 0:
            return None
        try:
            text = orjson.dumps(data, option=OPTIONS)
        except orjson.JSONEncodeError:
            return None
        return _without_points(text, whole) if whole else text

    def _look(self, kinds: _Kinds, data: Mapping[str, Any]) -> _Flat | None:
        if kinds in self._flats:
            return self._flats[kinds]
        if len(self._flats) >= TEMPLATES:
            self._flats.clear()
        # RFC 8785 sorts by UTF-16 units, orjson by code points: alike in ASCII.
        kind: type = type(data)
        plain = kind is dict and all(type(key) is str and key.isascii() for key in data)
        if plain and all(type(value) in SCALARS | LISTS for value in data.values()):
            floats = tuple(key for key, value in data.items() if type(value) is float)
            found = _Flat(floats, tuple(key for key, value in data.items() if type(value) in LISTS))
        else:
            found = None
        self._flats[kinds] = found
        return found

    def _object(self, data: Mapping[str, Any]) -> str:
        keys = tuple(data)
        template = self._templates.get(keys)
        if template is None:
            template = self._prepare(keys)
        text, values = template
        spell = self._spell
        return text % tuple([spell[type(value)](value) for value in values(data)])

    def _list(self, items: "list[Any] | tuple[Any, ...]") -> str:
        spell = self._spell
        return f"[{','.join([spell[type(item)](item) for item in items])}]"

    def _prepare(self, keys: tuple[str, ...]) -> _Template:
        # As above, of Python. Only text can be joined.
        if len(keys) < 2 or not "".join(keys).isascii():
            raise KeyError(keys)
        ordered = sorted(keys)
        names = [encode_basestring(key).replace("%", "%%") for key in ordered]
        if len(self._templates) >= TEMPLATES:
            self._templates.clear()
        made = "{" + ",".join(f"{name}:%s" for name in names) + "}", itemgetter(*ordered)
        self._templates[keys] = made
        return made


def _count_whole(items: list[Any]) -> int:
    """How many whole floats; -1 where orjson would spell one otherwise, or where one is no scalar."""
    whole = 0
    for item in items:
        if type(item) is not float:
            if type(item) not in SCALARS:
                return -1
        elif 1e-4 <= item <= LARGEST_EXACT_INTEGER or -LARGEST_EXACT_INTEGER <= item <= -1e-4:
            whole += item.is_integer()
        elif item == 0 and copysign(1.0, item) > 0:
            whole += 1
        else:
            return -1
    return whole


def _without_points(text: bytes, whole: int) -> bytes | None:
    """So many whole floats without their points; None where a string looks like one."""
    commas, brackets, braces = text.count(b".0,"), text.count(b".0]"), text.count(b".0}")
    if commas + brackets + braces != whole:
        return None
    if commas:
        text = text.replace(b".0,", b",")
    if brackets:
        text = text.replace(b".0]", b"]")
    return text.replace(b".0}", b"}") if braces else text


def _integer(value: int) -> str:
    return repr(value) if -LARGEST_EXACT_INTEGER <= value <= LARGEST_EXACT_INTEGER else f'"{value}"'


def _number(value: float) -> str:
    # Python writes exponents below 1e-4, RFC 8785 below 1e-6; whole numbers have no point there.
    if 1e-4 <= value <= LARGEST_EXACT_INTEGER or -LARGEST_EXACT_INTEGER <= value <= -1e-4 or value == 0:
        return repr(int(value)) if value.is_integer() else repr(value)
    raise ValueError(value)
