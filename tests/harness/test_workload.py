import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness._corpus import equal_numbers
from harness._workload import KINDS, generate_rows, rows_digest
from planner import build_prefix_tree
from schemas import InvalidInputError, NotFoundError

GRPO = {"prompts": 2, "completions": 3, "system": 5, "prompt": 4, "completion": 2}
EXAMPLES = {
    "grpo": GRPO,
    "heterogeneous": {"groups": [[3, 4, 2], [2, 6, 3]], "singles": [7]},
    "caterpillar": {"depth": 4, "root": 6, "step": 3, "tail": 2},
    "unique": {"rows": 5, "length": [2, 9]},
}


def rows_of(kind: str, **changes: object) -> tuple[np.ndarray, ...]:
    return generate_rows(kind, {**EXAMPLES[kind], **changes}, vocabulary=64)


def shared(first: np.ndarray, second: np.ndarray) -> int:
    """Length of the common prefix."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(first[:length] != second[:length])
    return int(differ[0]) if len(differ) else length


def test_grpo_rows_share_exactly_the_system_prompt_or_their_prompt() -> None:
    rows = rows_of("grpo")
    assert [len(row) for row in rows] == [11] * 6
    prefixes = {(a, b): shared(rows[a], rows[b]) for a in range(6) for b in range(a)}
    assert {length for (a, b), length in prefixes.items() if a // 3 == b // 3} == {9}
    assert {length for (a, b), length in prefixes.items() if a // 3 != b // 3} == {5}


def test_grpo_without_a_system_prompt_has_unrelated_prompts() -> None:
    rows = rows_of("grpo", system=0)
    assert shared(rows[0], rows[3]) == 0


def test_a_caterpillar_sheds_a_row_at_each_level() -> None:
    rows = rows_of("caterpillar")
    assert [len(row) for row in rows] == [8, 11, 14, 17, 17]
    assert [shared(rows[index], rows[-1]) for index in range(4)] == [6, 9, 12, 15]


def test_heterogeneous_groups_stand_one_after_another_or_interleaved() -> None:
    plain, mixed = rows_of("heterogeneous"), rows_of("heterogeneous", interleave=True)
    assert [len(row) for row in plain] == [6, 6, 6, 9, 9, 7]
    assert [len(row) for row in mixed] == [6, 9, 7, 6, 9, 6]
    assert sorted(map(bytes, plain)) == sorted(map(bytes, mixed))


def test_unique_rows_share_nothing() -> None:
    rows = rows_of("unique")
    assert len({int(row[0]) for row in rows}) == len(rows)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_rows_are_int64_tokens_of_the_vocabulary_and_repeat_with_the_seed(kind: str) -> None:
    rows = rows_of(kind)
    assert all(row.dtype == np.int64 and row.min() >= 0 and row.max() < 64 for row in rows)
    assert rows_digest(rows) == rows_digest(rows_of(kind))
    assert rows_digest(rows) != rows_digest(rows_of(kind, seed=1))


def test_each_group_is_another_instance_of_the_same_lengths() -> None:
    first, second = (generate_rows("grpo", GRPO, vocabulary=64, group=group) for group in (0, 1))
    assert [len(row) for row in first] == [len(row) for row in second]
    assert rows_digest(first) != rows_digest(second)


def test_the_digest_sees_row_order_and_row_boundaries() -> None:
    one, two, three = (np.array(tokens) for tokens in ([1, 2], [3], [1]))
    assert rows_digest([one, two]) != rows_digest([two, one])
    assert rows_digest([one, two]) != rows_digest([three, np.array([2, 3])])


def test_a_generator_is_stable_across_releases() -> None:
    # A workload's digest is in every fingerprint: if this changes, old and new samples no longer mix.
    digest = rows_digest(rows_of("grpo"))
    assert digest == "75bde1a909bd0e46062df950de161de7000420d89c123538de9f06a397a117b9"


@pytest.mark.parametrize(
    ("kind", "parameters", "word"),
    [
        ("grid", {}, "grid"),
        ("grpo", {**GRPO, "prompt": 0}, "prompt"),
        ("grpo", {**GRPO, "prompts": 2.5}, "prompts"),
        ("grpo", {**GRPO, "prompt": [5, 4]}, "low, high"),
        ("grpo", {**GRPO, "colour": 1}, "colour"),
        ("grpo", {"prompts": 1}, "completions is missing"),
        ("heterogeneous", {"groups": [[1, 2]]}, "groups"),
        ("heterogeneous", {"groups": [[1, 2, 3]], "interleave": 1}, "interleave"),
        ("unique", {"rows": 70, "length": 2}, "different first tokens"),
    ],
)
def test_a_wrong_parameter_is_named(kind: str, parameters: dict[str, object], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        generate_rows(kind, parameters, vocabulary=64)


def test_a_file_gives_a_users_own_rows(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("[1, 2, 3]\n\n[1, 2]\n")
    rows = generate_rows("file", {"path": str(path)}, vocabulary=64)
    assert [row.tolist() for row in rows] == [[1, 2, 3], [1, 2]]


@pytest.mark.parametrize("line", ["[1, 2", "[]", "[1.5]", '{"a": 1}', "[true]", json.dumps([64]), "[-1]"])
def test_a_bad_line_of_a_file_is_refused(tmp_path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"[1]\n{line}\n")
    with pytest.raises(InvalidInputError, match=r"line 2|0 to 63"):
        generate_rows("file", {"path": str(path)}, vocabulary=64)


def test_a_missing_or_empty_file_says_what_to_do(tmp_path) -> None:
    with pytest.raises(NotFoundError, match="existing JSONL or Parquet file"):
        generate_rows("file", {"path": str(tmp_path / "none.jsonl")}, vocabulary=64)
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InvalidInputError, match="one JSON list"):
        generate_rows("file", {"path": str(tmp_path / "empty.jsonl")}, vocabulary=64)


def test_hashes_give_other_tokens_on_the_very_tree_of_the_hashes(tmp_path) -> None:
    path = tmp_path / "hashed.jsonl"
    hashed = [["aa", "bb", 2**63], ["aa", "bb", 7], ["aa", "bb"], ["7", "bb"], [7, "bb"], ["aa", "bb", 7]]
    path.write_text("\n".join(map(json.dumps, hashed)))
    rows = generate_rows("file", {"path": str(path), "tokens": "hashes"}, vocabulary=64)
    numbers = equal_numbers(hashed)
    made, meant = build_prefix_tree(rows), build_prefix_tree(numbers)
    assert (made.parents, made.ends, made.row_nodes) == (meant.parents, meant.ends, meant.row_nodes)
    assert all(row.min() >= 0 and row.max() < 64 for row in rows)
    again = generate_rows("file", {"path": str(path), "tokens": "hashes"}, vocabulary=64)
    assert rows_digest(rows) == rows_digest(again)


HASHED_ROWS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=7)


@settings(max_examples=60)
@given(HASHED_ROWS)
def test_any_tree_of_hashes_is_kept(hashed) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hashed.jsonl"
        path.write_text("\n".join(json.dumps([f"h{token}" for token in row]) for row in hashed))
        rows = generate_rows("file", {"path": str(path), "tokens": "hashes"}, vocabulary=8)
    made, meant = build_prefix_tree(rows), build_prefix_tree(equal_numbers(hashed))
    assert (made.parents, made.ends, made.row_nodes) == (meant.parents, meant.ends, meant.row_nodes)


def test_more_siblings_than_the_model_has_tokens_are_refused(tmp_path) -> None:
    path = tmp_path / "hashed.jsonl"
    path.write_text("\n".join(json.dumps([f"h{number}"]) for number in range(9)))
    with pytest.raises(InvalidInputError, match="9 siblings need different first tokens"):
        generate_rows("file", {"path": str(path), "tokens": "hashes"}, vocabulary=8)


def test_a_cells_group_picks_the_rows_of_that_group(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [{"tokens": [1, 2], "group": 3}, {"tokens": [5], "group": 4}, {"tokens": [1, 3], "group": 3}]
    path.write_text("\n".join(map(json.dumps, lines)))
    rows = generate_rows("file", {"path": str(path)}, vocabulary=64, group=3)
    assert [row.tolist() for row in rows] == [[1, 2], [1, 3]]
    with pytest.raises(InvalidInputError, match="has no group 5; its groups are: 3, 4"):
        generate_rows("file", {"path": str(path)}, vocabulary=64, group=5)


@pytest.mark.parametrize(
    ("changes", "word"),
    [({"tokens": "words"}, "ids"), ({"digest": "abc"}, "64 lower-case"), ({"path": ""}, "a file's path")],
)
def test_a_wrong_parameter_of_a_file_is_named(tmp_path, changes, word) -> None:
    with pytest.raises(InvalidInputError, match=word):
        generate_rows("file", {"path": str(tmp_path / "x"), **changes}, vocabulary=64)


def test_every_kind_has_an_example_here() -> None:
    assert set(KINDS) == {*EXAMPLES, "file"}
