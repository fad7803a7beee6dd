"""Token rows by kind, deterministic in their parameters and seed; and the digest of their content.

Every generator gives siblings different first tokens, so that the prefix tree is exactly the one that the
parameters describe and no accidental one-token segment stands in it.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness._corpus import TokenKind, equal_numbers, read_corpus
from harness._model_spec import model_config
from planner import build_prefix_tree
from schemas import CellPlan, InvalidInputError

Row = NDArray[np.int64]
Rows = tuple[Row, ...]


def cell_rows(plan: CellPlan) -> Rows:
    """The token rows of a cell, the same each time; raises as `generate_rows` and `model_config`."""
    vocabulary = model_config(plan.model, plan.dtype).vocab
    spec, group = plan.workload, plan.identity.group
    return generate_rows(spec.kind, spec.parameters, vocabulary=vocabulary, group=group)


def generate_rows(
    kind: str, parameters: Mapping[str, Any], *, vocabulary: int, group: int | None = None
) -> Rows:
    """The rows of a workload: int64 arrays of tokens in `[0, vocabulary)`, in caller order.

    Args:
        kind: one of `KINDS`.
        parameters: the kind's lengths and counts, in tokens and rows; `seed` (default 0) is common to all.
        vocabulary: the model's number of tokens.
        group: draws another instance of the same workload; of a file, the rows of this group.

    Raises:
        InvalidInputError: an unknown kind, a missing, unknown or impossible parameter, or a token that the
            model does not have.
        NotFoundError: a file of rows that does not exist, or is not the registered one.

    """
    check_parameters(kind, parameters)
    needs = {**KINDS[kind].defaults, **parameters}
    seed = [int(needs.pop("seed", 0)), 0 if group is None else group + 1]
    source = _TokenSource(np.random.default_rng(seed), vocabulary, group)
    rows = KINDS[kind].build(source, **needs)
    _check_vocabulary(kind, rows, vocabulary)
    return rows


def check_parameters(kind: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a kind or a parameter that no generator has, before anything is measured.

    Raises:
        InvalidInputError: naming the kind or the parameter, and what there is.

    """
    known = KINDS.get(kind)
    if known is None:
        raise InvalidInputError(f"kind is {kind!r}; there are: {', '.join(sorted(KINDS))}")
    names = {*known.required, *known.defaults, "seed"}
    missing = [name for name in known.required if name not in parameters]
    unknown = sorted(set(parameters) - names)
    if missing or unknown:
        what = [f"{name} is missing" for name in missing] + [
            f"{name} is not one of its fields" for name in unknown
        ]
        raise InvalidInputError(
            f"kind {kind!r}: {'; '.join(what)}; its fields are {', '.join(sorted(names))}"
        )
    for name, value in parameters.items():
        _check_value(kind, name, value)


def rows_digest(rows: Sequence[Row]) -> str:
    """sha256 over the rows in order: each one's length, then its tokens (int64, little-endian)."""
    state = hashlib.sha256()
    for row in rows:
        state.update(len(row).to_bytes(8, "little"))
        state.update(np.ascontiguousarray(row, dtype="<i8").tobytes())
    return state.hexdigest()


class _TokenSource:
    """Random tokens; `branches` starts each of several siblings with a token of its own."""

    def __init__(self, generator: np.random.Generator, vocabulary: int, group: int | None) -> None:
        self.generator = generator
        self.vocabulary = vocabulary
        self.group = group

    def branches(self, lengths: Sequence[int]) -> list[Row]:
        """Sibling pieces of these lengths (each at least 1)."""
        if len(lengths) > self.vocabulary:
            raise InvalidInputError(
                f"{len(lengths)} siblings need different first tokens, the model has {self.vocabulary} tokens"
            )
        firsts = self.generator.permutation(self.vocabulary)[: len(lengths)]
        pieces = [self.generator.integers(0, self.vocabulary, size=length) for length in lengths]
        for piece, first in zip(pieces, firsts, strict=True):
            piece[0] = first
        return [piece.astype(np.int64) for piece in pieces]

    def lengths(self, bounds: int | Sequence[int], count: int) -> list[int]:
        """`count` lengths: all the same, or drawn from `[low, high]`, both included."""
        if isinstance(bounds, int):
            return [bounds] * count
        low, high = bounds
        return [int(length) for length in self.generator.integers(low, high + 1, size=count)]


def _grpo(
    source: _TokenSource, *, prompts: int, completions: int, system: Any, prompt: Any, completion: Any
) -> Rows:
    """Hierarchical GRPO: a system prompt, prompts below it, sampled completions below each of those."""
    head = source.branches(source.lengths(system, 1))[0] if system else np.empty(0, dtype=np.int64)
    rows: list[Row] = []
    for middle in source.branches(source.lengths(prompt, prompts)):
        for tail in source.branches(source.lengths(completion, completions)):
            rows.append(np.concatenate([head, middle, tail]))
    return tuple(rows)


def _heterogeneous(
    source: _TokenSource, *, groups: Sequence[Sequence[int]], singles: Sequence[int], interleave: bool
) -> Rows:
    """Unlike groups side by side (`[completions, prompt, completion]` each), and single rows among them."""
    roots = source.branches([prompt for _, prompt, _ in groups] + list(singles))
    families: list[list[Row]] = []
    for (completions, _, completion), root in zip(groups, roots, strict=False):
        families.append(
            [np.concatenate([root, tail]) for tail in source.branches([completion] * completions)]
        )
    families += [[root] for root in roots[len(groups) :]]
    if not interleave:
        return tuple(row for family in families for row in family)
    longest = max(len(family) for family in families)
    return tuple(family[turn] for turn in range(longest) for family in families if turn < len(family))


def _caterpillar(source: _TokenSource, *, depth: int, root: int, step: int, tail: int, legs: int) -> Rows:
    """A chain of `depth` shared segments; `legs` rows leave it after each, one more at its end."""
    spine = source.branches([root])[0]
    rows: list[Row] = []
    for level in range(depth):
        last = level == depth - 1
        onward = [] if last else [step]
        leaving = [tail] * (legs + 1 if last else legs)
        pieces = source.branches([*onward, *leaving])
        rows += [np.concatenate([spine, piece]) for piece in pieces[len(onward) :]]
        if onward:
            spine = np.concatenate([spine, pieces[0]])
    return tuple(rows)


def _unique(source: _TokenSource, *, rows: int, length: Any) -> Rows:
    """Rows that share nothing: the control in which no layout can win."""
    return tuple(source.branches(source.lengths(length, rows)))


def _file(source: _TokenSource, *, path: str, tokens: TokenKind, digest: str | None) -> Rows:
    """A user's own token groups; of hashes, made-up tokens on the very tree of the hashes."""
    rows = read_corpus(path, tokens=tokens, digest=digest, group=source.group)
    if tokens == "hashes":
        return _same_tree(source, equal_numbers([row.tokens for row in rows]))
    for row in rows:
        outside = [p for p, token in enumerate(row.tokens, 1) if not 0 <= int(token) < source.vocabulary]
        if outside:
            raise InvalidInputError(
                f"{row.where}: token {outside[0]} of the row is not one of the model's, 0 to "
                f"{source.vocabulary - 1}; choose a model with a larger vocabulary, or say that they are "
                'hashes: tokens = "hashes"'
            )
    return tuple(np.asarray(row.tokens, dtype=np.int64) for row in rows)


def _same_tree(source: _TokenSource, rows: Sequence[Row]) -> Rows:
    """Other tokens in the same places: rows share what these rows share, and nothing else."""
    segments = build_prefix_tree(rows).segments
    children: dict[int | None, list[int]] = {}
    for index, segment in enumerate(segments):
        children.setdefault(segment.parent, []).append(index)
    made = [np.empty(len(row), dtype=np.int64) for row in rows]
    for siblings in children.values():
        spans = [segments[index] for index in siblings]
        pieces = source.branches([span.end - span.start for span in spans])
        for span, piece in zip(spans, pieces, strict=True):
            for row in span.rows:
                made[row][span.start : span.end] = piece
    return tuple(made)


class _Kind:
    """A generator with its parameters: those that must be given and those with a default."""

    def __init__(self, build: Callable[..., Rows], required: tuple[str, ...], **defaults: Any) -> None:
        self.build = build
        self.required = required
        self.defaults = defaults


KINDS: dict[str, _Kind] = {
    "grpo": _Kind(_grpo, ("prompts", "completions", "prompt", "completion"), system=0),
    "heterogeneous": _Kind(_heterogeneous, ("groups",), singles=(), interleave=False),
    "caterpillar": _Kind(_caterpillar, ("depth", "root", "step", "tail"), legs=1),
    "unique": _Kind(_unique, ("rows", "length")),
    "file": _Kind(_file, ("path",), tokens="ids", digest=None),
}

_RANGES = {"system", "prompt", "completion", "length"}
_MAY_BE_ZERO = {"system", "seed"}


def _check_value(kind: str, name: str, value: Any) -> None:
    """Counts are whole and positive; a length may also be `[low, high]`."""
    least = 0 if name in _MAY_BE_ZERO else 1
    fits: bool
    if name == "path":
        fits, wanted = isinstance(value, str) and bool(value), "a file's path"
    elif name == "tokens":
        fits, wanted = value in ("ids", "hashes"), '"ids" or "hashes"'
    elif name == "digest":
        fits = isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
        wanted = "the file's sha256, 64 lower-case hexadecimal digits"
    elif name == "interleave":
        fits, wanted = isinstance(value, bool), "true or false"
    elif name == "groups":
        fits = (
            _is_list(value)
            and bool(value)
            and all(_is_list(g) and len(g) == 3 and _whole(g, 1) for g in value)
        )
        wanted = "a list of [completions, prompt, completion], each at least 1"
    elif name == "singles":
        fits, wanted = _is_list(value) and _whole(value, 1), "a list of lengths, each at least 1"
    elif name in _RANGES and _is_list(value):
        fits, wanted = (
            len(value) == 2 and _whole(value, 1) and value[0] <= value[1],
            "[low, high], low at least 1",
        )
    else:
        fits, wanted = _whole([value], least), f"a whole number of at least {least}"
    if not fits:
        raise InvalidInputError(f"kind {kind!r}: {name} is {value!r}; it must be {wanted}")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _whole(values: Sequence[Any], least: int) -> bool:
    return all(type(value) is int and value >= least for value in values)


def _check_vocabulary(kind: str, rows: Rows, vocabulary: int) -> None:
    low, high = min(int(row.min()) for row in rows), max(int(row.max()) for row in rows)
    if low < 0 or high >= vocabulary:
        raise InvalidInputError(
            f"kind {kind!r}: rows hold tokens from {low} to {high}, the model has 0 to {vocabulary - 1}; "
            "choose a model with a larger vocabulary or map the tokens into it first"
        )
