import pytest

from harness.recipes import RecipeOptions, check_runners, write_runners
from schemas import InvalidInputError, NotFoundError, StoreUnavailableError


@pytest.fixture
def plan(manifest):
    return manifest(["a", "b"])


def test_what_is_written_passes_its_check_and_again_changes_nothing(plan, tmp_path) -> None:
    for engine in ("local", "skypilot", "slurm"):
        files = write_runners(plan, engine, tmp_path / "new" / "folder")
        before = {path: path.read_bytes() for path in files}
        assert set(check_runners(plan, engine, tmp_path / "new" / "folder")) < set(files)
        assert write_runners(plan, engine, tmp_path / "new" / "folder") == files
        assert {path: path.read_bytes() for path in files} == before


def test_runners_of_another_recipe_are_not_mixed_with_these(plan, manifest, tmp_path) -> None:
    write_runners(plan, "skypilot", tmp_path, RecipeOptions(cells_per_job=1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for other, options in ((plan, None), (manifest(["a", "c"]), RecipeOptions(cells_per_job=1))):
        with pytest.raises(InvalidInputError, match="another recipe, or edited"):
            write_runners(other, "skypilot", tmp_path, options)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_edited_runner_keeps_what_it_is_for_or_is_told(plan, tmp_path) -> None:
    (_, script) = write_runners(plan, "slurm", tmp_path)
    script.write_text(script.read_text().replace("#SBATCH --exclusive", "#SBATCH --partition=long"))
    assert check_runners(plan, "slurm", tmp_path) == (script,)
    script.write_text(script.read_text().replace("--cell 'b|m|L2|tp1|cp1'", ""))
    with pytest.raises(InvalidInputError, match=r"not measured: b\|m"):
        check_runners(plan, "slurm", tmp_path)


def test_what_is_absent_or_cannot_be_read_or_written_is_told(plan, tmp_path) -> None:
    with pytest.raises(NotFoundError, match="no runners for local"):
        check_runners(plan, "local", tmp_path)
    (tmp_path / "local.sh").write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        check_runners(plan, "local", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailableError, match="cannot be written"):
        write_runners(plan, "local", tmp_path / "file")
