import os
import shutil

import duckdb
import pytest

from schemas import CorruptionError, InvalidInputError, StoreUnavailableError
from tracker.log import Log
from tracker.warehouse import Refreshed, Warehouse, _refresh
from tracker.warehouse._catalogue import load_catalogue


def contents(warehouse, views=None):
    """Every row of every documented view, in an order of its own."""
    with warehouse.connect() as connection:
        names = views or [
            row[0]
            for row in connection.execute(
                "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT starts_with(view_name, '_') "
                "ORDER BY view_name"
            ).fetchall()
        ]
        return {
            name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall())) for name in names
        }


def test_a_sealed_segment_becomes_one_file(measured, warehouse):
    assert warehouse.refresh() == Refreshed(projected=4, views=True)
    files = sorted(path.stem for path in (measured.store / "warehouse/segments/demo").glob("*.parquet"))
    assert files == [place.segment for place in measured.log.segments("demo")]


def test_nothing_new_writes_nothing(measured, warehouse):
    warehouse.refresh()
    before = {path: path.stat().st_mtime_ns for path in measured.store.rglob("warehouse/**/*")}
    assert warehouse.refresh() == Refreshed()
    assert {path: path.stat().st_mtime_ns for path in measured.store.rglob("warehouse/**/*")} == before


def test_only_new_segments_are_written(measured, warehouse):
    warehouse.refresh()
    folder = measured.store / "warehouse/segments/demo"
    before = {path.name: path.stat().st_ino for path in folder.glob("*.parquet")}
    measured.attempt("demo", measured.cells[0], measured.times, number=2)
    assert warehouse.refresh() == Refreshed(projected=1, views=True)
    after = {path.name: path.stat().st_ino for path in folder.glob("*.parquet")}
    assert len(after) == len(before) + 1
    assert before.items() <= after.items()


def test_an_open_segment_stays_out(measured, warehouse):
    segment = measured.begin("demo", measured.cells[0], 2)
    segment.append("sample.recorded", measured.sample(measured.cells[0], "depth_one", 0, 1.0))
    assert warehouse.query("SELECT count(*) AS n FROM samples WHERE role = 'measured'").records() == [
        {"n": 30}
    ]
    measured.complete(segment, measured.cells[0])
    assert warehouse.query("SELECT count(*) AS n FROM samples WHERE role = 'measured'").records() == [
        {"n": 31}
    ]


def test_an_empty_ledger_has_empty_views(warehouse):
    assert all(rows == [] for rows in contents(warehouse).values())


def test_a_deleted_warehouse_is_made_again_equal(measured, warehouse):
    before = contents(warehouse)
    shutil.rmtree(measured.store / "warehouse")
    assert contents(warehouse) == before
    warehouse.rebuild()
    assert contents(warehouse) == before


def test_rebuilding_gives_the_same_segment_files(measured, warehouse):
    warehouse.refresh()
    folder = measured.store / "warehouse/segments/demo"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(measured.store / "warehouse")
    warehouse.rebuild()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_missing_file_is_written_again(measured, warehouse):
    before = contents(warehouse)
    next((measured.store / "warehouse/segments/demo").glob("*.parquet")).unlink()
    assert contents(warehouse) == before


def test_a_refresh_that_fails_half_way_goes_on_from_there(measured, warehouse, monkeypatch):
    monkeypatch.setattr("tracker.warehouse._refresh.SAVED_EVERY", 1)
    path = measured.log.segments("demo")[2].path
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"ms":', b'"mz":', 1))
    with pytest.raises(CorruptionError):
        warehouse.refresh()
    path.write_bytes(data)
    assert warehouse.refresh().projected == len(measured.log.segments()) - 2


def test_an_older_layout_is_made_again(measured, warehouse, monkeypatch):
    before = contents(warehouse)
    catalogue = measured.store / "warehouse/segments/demo/catalogue.json"
    text = catalogue.read_text()
    catalogue.write_text(text.replace('"layout":"', '"layout":"old'))
    assert warehouse.refresh().projected == 4
    assert catalogue.read_text() == text
    assert contents(warehouse) == before


def test_an_unreadable_catalogue_is_made_again(measured, warehouse):
    before = contents(warehouse)
    (measured.store / "warehouse/segments/demo/catalogue.json").write_text('{"layout": 7')
    assert contents(warehouse) == before


def test_a_moved_ledger_goes_on(measured, warehouse, tmp_path):
    before = contents(warehouse)
    moved = tmp_path / "it's elsewhere"
    measured.store.rename(moved)
    assert contents(Warehouse(moved)) == before
    assert Warehouse(moved).refresh() == Refreshed()


def test_the_views_file_opens_from_the_ledgers_folder(measured, warehouse, monkeypatch):
    warehouse.refresh()
    monkeypatch.chdir(measured.store)
    with duckdb.connect("warehouse/warehouse.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM cells").fetchone() == (3,)


def test_a_reader_neither_blocks_nor_is_blocked(measured, warehouse, monkeypatch):
    warehouse.refresh()
    monkeypatch.chdir(measured.store)
    with duckdb.connect("warehouse/warehouse.duckdb", read_only=True) as reader:
        before = reader.execute("SELECT * FROM samples ORDER BY ALL").fetchall()
        for number in range(2, 20):
            measured.attempt("demo", measured.cells[0], measured.times, number=number)
        assert warehouse.refresh().parts == 2
        # The reader sees what it opened; parts that replaced its files have not taken them away.
        assert reader.execute("SELECT * FROM samples ORDER BY ALL").fetchall() == before
    assert warehouse.query("SELECT count(*) AS n FROM attempts").records() == [{"n": 21}]


def test_a_damaged_segment_is_refused_and_nothing_changes(measured, warehouse):
    before = contents(warehouse)
    measured.attempt("demo", measured.cells[0], measured.times, number=2)
    path = measured.log.segments("demo")[-1].path
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"ms":8,', b'"ms":7,'))
    with pytest.raises(CorruptionError, match="line 12"):
        warehouse.refresh()
    path.write_bytes(whole)
    assert contents(warehouse) != before


def test_a_payload_that_is_none_is_refused(measured, warehouse):
    measured.one("demo", "attempt", "sample.recorded", {"cell": "x", "ms": "fast"})
    with pytest.raises(InvalidInputError, match=r"line 2: sample.recorded: .*candidate: Field required"):
        warehouse.refresh()


def test_an_unknown_type_is_kept_as_an_event(measured, warehouse):
    measured.one("demo", "attempt", "weather.seen", {"cell": "x", "sky": ["blue", 3]})
    (row,) = warehouse.query("SELECT cell, data FROM events WHERE type = 'weather.seen'").records()
    assert row == {"cell": "x", "data": '{"cell":"x","sky":["blue",3]}'}


def test_a_segment_that_the_log_lost_goes_from_the_views(measured, warehouse):
    for number in range(2, 20):
        measured.attempt("demo", measured.cells[0], measured.times, number=number)
    warehouse.refresh()
    gone = measured.log.segments("demo")[5]
    gone.path.unlink()
    assert warehouse.refresh().dropped == 1
    assert warehouse.query(f"SELECT * FROM events WHERE segment = '{gone.segment}'").records() == []
    assert warehouse.query("SELECT count(*) AS n FROM attempts").records() == [{"n": 20}]


def test_compacted_views_equal_plain_ones(measured, warehouse, monkeypatch, tmp_path):
    for number in range(2, 40):
        cell = measured.cells[number % 3]
        measured.attempt("demo", cell, {"no_sharing": (1 / number, 3.0, number / 7)}, number=number)
        if number % 9 == 0:
            warehouse.refresh()
    assert list((measured.store / "warehouse/parts/demo").glob("*.medians.parquet"))
    shutil.copytree(measured.store / "log", tmp_path / "plain/log")
    monkeypatch.setattr("tracker.warehouse._compact.FAN_IN", 10_000)
    plain = Warehouse(tmp_path / "plain")
    assert contents(plain) == contents(warehouse)
    assert not (tmp_path / "plain/warehouse/parts").exists()


def test_tables_hold_the_segments_that_are_in_no_part(measured, warehouse):
    sizes = []
    for number in range(2, 20):
        measured.attempt("demo", measured.cells[0], measured.times, number=number)
        warehouse.refresh()
        sizes.append((measured.store / "warehouse/warehouse.duckdb").stat().st_size)
    loose = load_catalogue(warehouse.folder, "demo").loose()
    assert len(loose) == 6
    with duckdb.connect(str(measured.store / "warehouse/warehouse.duckdb"), read_only=True) as connection:
        for table, segment in (("facts", "segment"), ("outcomes", "attempt"), ("medians", "attempt")):
            held = connection.execute(f"SELECT DISTINCT {segment} FROM _loose_{table} ORDER BY 1").fetchall()
            assert [row[0] for row in held] == loose
    # What went into parts leaves room for what comes.
    assert sizes[-1] <= max(sizes[:8])


def test_what_another_process_took_in_meanwhile_is_not_taken_in_again(measured, warehouse, monkeypatch):
    is_behind = _refresh._is_behind

    def other_comes_first(log, folder, gaps):
        behind = is_behind(log, folder, gaps)
        monkeypatch.undo()
        assert Warehouse(measured.store).refresh().projected == 4
        return behind

    monkeypatch.setattr(_refresh, "_is_behind", other_comes_first)
    assert warehouse.refresh() == Refreshed()
    assert warehouse.verify() == warehouse.compare_with_log() == []


def test_parts_are_merged_into_larger_parts(measured, warehouse, monkeypatch):
    monkeypatch.setattr("tracker.warehouse._compact.FAN_IN", 3)
    for number in range(2, 14):
        measured.attempt("demo", measured.cells[0], measured.times, number=number)
        if number % 4 == 0:
            warehouse.refresh()
    before = contents(warehouse)
    warehouse.rebuild()
    assert contents(warehouse) == before
    names = {path.name.split(".")[0] for path in (measured.store / "warehouse/parts/demo").iterdir()}
    assert len(names) <= 4


def test_a_read_only_ledger_is_readable_when_current(measured, warehouse):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    warehouse.refresh()
    folders = [measured.store, *(path for path in measured.store.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert len(warehouse.campaigns()) == 1
        (Log(measured.store).folder / "demo").chmod(0o755)
        measured.attempt("demo", measured.cells[0], measured.times, number=2)
        with pytest.raises(StoreUnavailableError):
            warehouse.refresh()
    finally:
        for folder in folders:
            folder.chmod(0o755)
