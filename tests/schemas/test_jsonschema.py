"""The JSON Schema files on disk are those that the records give."""

from schemas._jsonschema import SCHEMA_FOLDER, schema_files, write_schemas


def test_files_on_disk_are_in_step_with_the_records():
    on_disk = {path.name: path.read_text(encoding="utf-8") for path in SCHEMA_FOLDER.glob("*.schema.json")}
    assert on_disk == schema_files(), "run: python -m schemas._jsonschema"


def test_a_schema_without_a_record_is_dropped(tmp_path):
    (tmp_path / "gone.schema.json").write_text("{}")
    write_schemas(tmp_path)
    assert not (tmp_path / "gone.schema.json").exists()
    assert (tmp_path / "manifest.schema.json").exists()
