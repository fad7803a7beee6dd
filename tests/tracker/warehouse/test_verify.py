import json
import shutil

import duckdb
import pytest

from schemas import CorruptionError, digest_file
from tracker.warehouse import Warehouse


@pytest.fixture
def compacted(measured, warehouse):
    for number in range(2, 6):
        measured.attempt("demo", measured.cells[0], measured.times, number=number)
    assert warehouse.refresh().parts == 1
    return measured


def found(warehouse):
    return [(item.what, item.where) for item in warehouse.verify()]


def compared(warehouse):
    return [(item.what, item.where) for item in warehouse.compare_with_log()]


def test_a_whole_warehouse_has_no_findings(compacted, warehouse):
    assert found(warehouse) == []
    assert compared(warehouse) == []


def test_what_is_at_work_since_the_last_refresh_is_no_finding(compacted, warehouse):
    segment = compacted.begin("demo", compacted.cells[0], 2)
    assert compared(warehouse) == []
    segment.close()


def test_views_of_another_program_are_no_finding(compacted, warehouse, monkeypatch):
    monkeypatch.setattr("tracker.warehouse._views.LAYOUT", "another")
    assert compared(warehouse) == []


def test_no_warehouse_has_no_findings(measured, tmp_path):
    assert Warehouse(tmp_path / "elsewhere").verify() == []
    assert Warehouse(tmp_path / "elsewhere").compare_with_log() == []


def swap_sample(path):
    """A Parquet file with one number changed."""
    other = path.with_suffix(".other")
    duckdb.execute(
        f"COPY (SELECT * REPLACE (struct_update(sample, ms := 0.5) AS sample) FROM '{path}') "
        f"TO '{other}' (FORMAT parquet)"
    )
    other.rename(path)


def test_a_swapped_file_is_found_and_never_certified(measured, warehouse):
    warehouse.refresh()
    path = sorted((measured.store / "warehouse/segments/demo").glob("*.parquet"))[1]
    swap_sample(path)
    where = f"warehouse/segments/demo/{path.name}"
    assert found(warehouse) == [("warehouse file", where)]
    with pytest.raises(CorruptionError, match=path.name):
        warehouse.certified_cells("demo")
    assert compared(warehouse) == [("warehouse rows", where)]


def test_new_views_take_nothing_from_a_swapped_file(measured, warehouse):
    warehouse.refresh()
    path = sorted((measured.store / "warehouse/segments/demo").glob("*.parquet"))[1]
    swap_sample(path)
    (measured.store / "warehouse/warehouse.duckdb").unlink()
    with pytest.raises(CorruptionError, match=path.name):
        warehouse.refresh()
    shutil.rmtree(measured.store / "warehouse")
    warehouse.refresh()
    assert found(warehouse) == compared(warehouse) == []


def test_a_swapped_file_with_its_note_is_found_by_its_rows(measured, warehouse):
    warehouse.refresh()
    path = sorted((measured.store / "warehouse/segments/demo").glob("*.parquet"))[1]
    before = digest_file(path)
    swap_sample(path)
    catalogue = path.with_name("catalogue.json")
    catalogue.write_text(catalogue.read_text().replace(before, digest_file(path)))
    assert found(warehouse) == []
    assert compared(warehouse) == [("warehouse rows", f"warehouse/segments/demo/{path.name}")]


def test_a_swapped_part_with_its_note_is_found_by_its_rows(compacted, warehouse):
    folder = compacted.store / "warehouse/parts/demo"
    (samples,) = folder.glob("*.samples.parquet")
    before = digest_file(samples)
    swap_sample(samples)
    where = f"warehouse/parts/demo/{samples.name}"
    assert found(warehouse) == [("warehouse file", where)]
    catalogue = compacted.store / "warehouse/segments/demo/catalogue.json"
    catalogue.write_text(catalogue.read_text().replace(before, digest_file(samples)))
    assert found(warehouse) == []
    (finding,) = warehouse.compare_with_log()
    assert (finding.where, finding.found) == (where, "91 rows too much, 91 missing")


def test_a_missing_file_is_found(compacted, warehouse):
    folder = compacted.store / "warehouse/parts/demo"
    (medians,) = folder.glob("*.medians.parquet")
    medians.unlink()
    (finding,) = warehouse.verify()
    assert (finding.where, finding.found) == (
        f"warehouse/parts/demo/{medians.name}",
        "No such file or directory",
    )


def test_a_lost_catalogue_is_found(measured, warehouse):
    warehouse.refresh()
    (measured.store / "warehouse/segments/demo/catalogue.json").unlink()
    assert found(warehouse) == [("warehouse catalogue", "warehouse/segments/demo/catalogue.json")]


def test_a_segment_replaced_in_the_log_is_found(measured, warehouse, tmp_path):
    warehouse.refresh()
    path = measured.log.segments("demo")[-1].path
    lines = path.read_bytes().splitlines(keepends=True)
    seal = json.loads(lines[-1])
    other = type(measured)(tmp_path / "other")
    other.attempt("demo", measured.cells[0], measured.times)
    (path.parent / path.name).write_bytes(
        b"".join(lines[:-1]) + lines[-1].replace(seal["data"]["root"].encode(), b"0" * 64)
    )
    (finding,) = warehouse.verify()
    assert finding.what == "warehouse segment"
    assert path.stem in finding.where


def test_a_segment_deleted_from_the_log_is_found(measured, warehouse):
    warehouse.refresh()
    gone = measured.log.segments("demo")[1]
    gone.path.unlink()
    (finding,) = warehouse.verify()
    assert (finding.where, finding.found) == (
        f"warehouse/segments/demo/{gone.segment}.parquet",
        "log: no such segment",
    )


def test_a_changed_view_is_found_and_made_again(measured, warehouse):
    warehouse.refresh()
    path = measured.store / "warehouse/warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"SET VARIABLE ledger = '{measured.store}'")
        connection.execute("CREATE OR REPLACE VIEW failures AS SELECT 'none' AS kind WHERE false")
    assert found(warehouse) == [("warehouse views", "warehouse/warehouse.duckdb")]
    assert compared(warehouse) == [("warehouse view", "warehouse/warehouse.duckdb: failures")]
    assert warehouse.refresh().views
    assert found(warehouse) == compared(warehouse) == []


def forge_table(store, statement):
    """Change a table of the views file, and the note of its digest with it."""
    path = store / "warehouse/warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    seal = path.with_name("views.json")
    note = json.loads(seal.read_text())
    seal.write_text(json.dumps({**note, "sha256": digest_file(path)}))


@pytest.mark.parametrize(
    ("table", "change"),
    [("facts", "type = 'weather.seen'"), ("medians", "median_ms = 0.5"), ("outcomes", "number = 9")],
)
def test_changed_rows_of_loose_segments_are_found_and_go_with_a_rebuild(measured, warehouse, table, change):
    warehouse.refresh()
    forge_table(measured.store, f"UPDATE _loose_{table} SET {change}")
    assert found(warehouse) == []
    assert compared(warehouse) == [("warehouse rows", f"warehouse/warehouse.duckdb: _loose_{table}")]
    warehouse.rebuild()
    assert found(warehouse) == compared(warehouse) == []


def test_a_file_that_is_no_database_is_made_again(measured, warehouse):
    warehouse.refresh()
    (measured.store / "warehouse/warehouse.duckdb").write_bytes(b"not a database")
    assert warehouse.campaigns() == ("demo",)


def test_a_warehouse_of_another_ledger_is_found(measured, warehouse, tmp_path):
    other = type(measured)(tmp_path / "other")
    other.open_campaign(other.manifest())
    Warehouse(other.store).refresh()
    shutil.copytree(other.store / "warehouse", measured.store / "warehouse", dirs_exist_ok=True)
    assert [item.found for item in warehouse.verify()] == ["log: no such segment"]
    assert warehouse.refresh().dropped == 1
    assert found(warehouse) == []
