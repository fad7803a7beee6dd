import csv
import io
import json

import duckdb
import pytest

from schemas import InvalidInputError
from tracker.warehouse import as_csv, as_json, as_text, write_parquet


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/x.csv'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
        "SELECT * FROM read_text('warehouse/../log/*')",
        "SELECT * FROM parquet_metadata('/tmp/x.parquet')",
    ],
)
def test_other_files_and_the_network_are_out_of_reach(measured, warehouse, statement):
    with pytest.raises(InvalidInputError, match="--allow-files"):
        warehouse.query(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{path}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}'",
        "explain  (analyze) COPY (SELECT 1) TO '{path}'",
        "/* EXPLAIN */ EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}'",
        "EXPORT DATABASE '{path}'",
        "ATTACH '{path}'",
        "CREATE TABLE x AS SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "SET enable_external_access = true",
        "SET VARIABLE ledger = '/'",
        "INSTALL httpfs",
        "LOAD '{path}'",
        "PRAGMA enable_profiling",
        "SELECT 1; SELECT 2",
        "",
    ],
)
def test_only_reading_statements_run(measured, warehouse, statement):
    warehouse.refresh()
    # A place that DuckDB itself would let be written to: its files are read from there.
    path = measured.store / "warehouse" / "segments" / "planted.parquet"
    with pytest.raises(InvalidInputError):
        warehouse.query(statement.format(path=path))
    assert not path.exists()


@pytest.mark.parametrize(
    "statement",
    ["DESCRIBE cells", "SHOW TABLES", "SUMMARIZE cells", "EXPLAIN FROM cells", "FROM cells", "VALUES (1)"],
)
def test_reading_statements_run(measured, warehouse, statement):
    assert list(warehouse.query(statement).rows())


def test_a_mistake_is_explained_with_the_views_there_are(warehouse):
    with pytest.raises(InvalidInputError, match=r"(?s)sample does not exist.*candidate_medians.*DESCRIBE"):
        warehouse.query("SELECT * FROM sample")


def test_files_open_when_asked_for(measured, warehouse, tmp_path):
    source = tmp_path / "notes.csv"
    source.write_text("cell,note\nx,quiet\n")
    assert warehouse.query(f"FROM '{source}'", allow_files=True).records() == [{"cell": "x", "note": "quiet"}]
    target = tmp_path / "out.parquet"
    warehouse.query(f"COPY (SELECT cell FROM cells) TO '{target}'", allow_files=True)
    assert duckdb.connect().execute(f"SELECT count(*) FROM '{target}'").fetchone() == (3,)
    with pytest.raises(InvalidInputError, match="CREATE"):
        warehouse.query("CREATE TABLE x AS SELECT 1", allow_files=True)


SELECT = (
    "SELECT 0.1::DOUBLE AS a, NULL AS b, [1, 2] AS c, {'x': 1.5::DOUBLE} AS d, 'say \"hi\", ü' AS e, "
    "TIMESTAMP '2026-01-02 03:04:05.000006' AS f, true AS g, 'nan'::DOUBLE AS h, '\\x01'::BLOB AS i"
)


def test_json_is_exact_and_plain(warehouse):
    assert json.loads(as_json(warehouse.query(SELECT))) == [
        {
            "a": 0.1,
            "b": None,
            "c": [1, 2],
            "d": {"x": 1.5},
            "e": 'say "hi", ü',
            "f": "2026-01-02T03:04:05.000006Z",
            "g": True,
            "h": None,
            "i": "01",
        }
    ]
    assert json.loads(as_json(warehouse.query("SELECT 1 AS a WHERE false"))) == []


def test_csv_reads_back(warehouse):
    header, row = csv.reader(io.StringIO(as_csv(warehouse.query(SELECT)), newline=""))
    assert header == list("abcdefghi")
    assert row == [
        "0.1", "", "[1, 2]", '{"x": 1.5}', 'say "hi", ü', "2026-01-02T03:04:05.000006Z", "true", "nan", "01"
    ]  # fmt: skip


def test_a_shell_takes_the_last_line_of_csv_as_it_is(warehouse):
    assert as_csv(warehouse.query("SELECT 'ab' AS digest")) == "digest\nab\n"


def test_text_shows_no_noise_of_binary_fractions(warehouse):
    text = as_text(warehouse.query("SELECT 0.1::DOUBLE + 0.2::DOUBLE AS a, 1e300 AS b, 'nan'::DOUBLE AS c"))
    assert text.splitlines()[2].split() == ["0.3", "1e+300", "nan"]


def test_text_lines_up_and_cannot_move_the_cursor(warehouse):
    text = as_text(
        warehouse.query("SELECT unnest([1, 20]) AS n, 'a' || chr(27) || '[2J' AS s, repeat('x', 99) AS long")
    )
    lines = text.splitlines()
    assert lines[0].split() == ["n", "s", "long"]
    assert lines[2].startswith(" 1  a [2J")
    assert lines[3].startswith("20  a [2J")
    assert lines[2].endswith("x…")
    assert lines[-1] == "(2 rows)"


def test_parquet_keeps_types(warehouse, tmp_path):
    path = tmp_path / "out.parquet"
    write_parquet(warehouse.query("SELECT 0.1::DOUBLE AS a, [1] AS b"), path)
    assert duckdb.connect().execute(f"FROM '{path}'").fetchall() == [(0.1, [1])]
    assert list(tmp_path.glob("*.tmp")) == []
