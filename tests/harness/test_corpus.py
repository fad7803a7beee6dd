"""A user's own file of rows: what is read, what is refused with its place, and that no token is repeated."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness._corpus import corpus_digest, corpus_shape, equal_numbers, read_corpus
from schemas import InvalidInputError, NotFoundError

SECRET = 48_151_623


def written(path, *lines: object) -> str:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(path)


def parquet(path, **columns: object) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_both_formats_give_the_same_rows_and_groups(tmp_path):
    rows, groups = [[1, 2, 3], [1, 2], [7]], [0, 0, 1]
    lines = [{"tokens": row, "group": group} for row, group in zip(rows, groups, strict=True)]
    files = (
        written(tmp_path / "a.jsonl", *lines, ""),
        parquet(tmp_path / "a.parquet", tokens=rows, group=groups),
    )
    for file in files:
        found = read_corpus(file, tokens="ids")
        assert [(list(row.tokens), row.group) for row in found] == list(zip(rows, groups, strict=True))
        assert [list(row.tokens) for row in read_corpus(file, tokens="ids", group=1)] == [[7]]


@pytest.mark.parametrize("type_", [pa.string(), pa.uint64(), pa.int64()])
def test_hashes_may_be_text_or_any_64_bits(tmp_path, type_):
    values = ["a", "b"] if type_ == pa.string() else [2**64 - 1 if type_ == pa.uint64() else -5, 3]
    file = parquet(tmp_path / "a.parquet", tokens=pa.array([values, values[:1]], pa.list_(type_)))
    found = read_corpus(file, tokens="hashes")
    assert [list(row.tokens) for row in found] == [values, values[:1]]


def test_equal_tokens_get_equal_numbers_and_text_is_no_number():
    rows = equal_numbers([["1", 1, "1"], [1, "x"]])
    assert [row.tolist() for row in rows] == [[0, 1, 0], [1, 2]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1, 2", "line 2: not JSON"),
        ("[]", "line 2: not a list of one or more tokens"),
        ('{"tokens": 5}', "line 2: not a list"),
        ('{"rows": [5]}', "line 2: not a list"),
        (f"[{SECRET}, 1.5]", "line 2: token 2 of the row is not a token id"),
        (f"[{SECRET}, true]", "line 2: token 2 of the row is not a token id"),
        (f'["{SECRET}"]', 'line 2: token 1 .* tokens = "hashes"'),
        ('{"tokens": [1], "group": -1}', "line 2: its group"),
        ('{"tokens": [1], "group": "a"}', "line 2: its group"),
        ("[" * 5000, "line 2: not JSON"),
    ],
)
def test_a_wrong_line_is_named_and_not_repeated(tmp_path, line, words):
    file = written(tmp_path / "a.jsonl", [1], line)
    with pytest.raises(InvalidInputError, match=words) as raised:
        read_corpus(file, tokens="ids")
    assert str(SECRET) not in str(raised.value)


def test_wrong_parquet_is_named_by_row_or_column(tmp_path):
    for columns, words in (
        ({"tokens": [[1], [], [2]]}, "row 2: not a list of one or more"),
        ({"tokens": [[1], None]}, "row 2: not a list of one or more"),
        ({"tokens": [[1], [1, None]]}, "row 2: token 2"),
        ({"tokens": [[1.5]]}, "row 1: token 1"),
        ({"rows": [[1]]}, "no column `tokens`; its columns are rows"),
        ({"tokens": pa.array([], pa.list_(pa.int64()))}, "holds no rows"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_corpus(parquet(tmp_path / "a.parquet", **columns), tokens="ids")
    with pytest.raises(InvalidInputError, match="is not Parquet"):
        read_corpus(written(tmp_path / "b.parquet", [1]), tokens="ids")


def test_bytes_that_are_no_text_are_named_by_place(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"[1]\n\xff")
    with pytest.raises(InvalidInputError, match="byte 5 is not UTF-8"):
        read_corpus(str(tmp_path / "a.jsonl"), tokens="ids")


def test_a_file_that_changed_since_it_was_registered_is_refused(tmp_path):
    file = written(tmp_path / "a.jsonl", [1, 2])
    digest = corpus_digest(file)
    assert read_corpus(file, tokens="ids", digest=digest)
    written(tmp_path / "a.jsonl", [1, 3])
    with pytest.raises(NotFoundError, match="is not the one that was registered"):
        read_corpus(file, tokens="ids", digest=digest)


def test_the_ledger_keeps_lengths_and_tree():
    shape = corpus_shape([[5, 6, 7], [5, 6], [9], [5, 6, 8, 8]], "d" * 64)
    assert shape.row_lengths == (3, 2, 1, 4)
    assert shape.segments == ((-1, 0, 2), (0, 2, 3), (0, 2, 4), (-1, 0, 1))
    assert shape.row_segments == (1, 0, 3, 2)
