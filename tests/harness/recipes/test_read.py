"""A runner that was edited is read as its engine would read it, not as it was written."""

import pytest

from harness.recipes import MANIFEST_FILE, RecipeOptions, read_recipe, write_recipe
from schemas import InvalidInputError


@pytest.fixture
def plan(manifest):
    return manifest(["a", "b", "c"])


def edited(plan, engine: str, old: str, new: str) -> tuple[str, ...]:
    """What differs once each runner's text is changed."""
    files = write_recipe(plan, engine, RecipeOptions(cells_per_job=1 if engine == "slurm" else None))
    del files[MANIFEST_FILE]
    assert all(old in text for text in files.values())
    return read_recipe({name: text.replace(old, new) for name, text in files.items()}).differences(plan)


ENGINES = ("local", "skypilot", "slurm")
LINE = "--cell 'b|m|L2|tp1|cp1'"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("new", "found"),
    [
        ("", ["not measured: b|m|L2|tp1|cp1"]),
        (f"# {LINE}", ["not measured: b|m|L2|tp1|cp1"]),
        (f"{LINE} {LINE}", ["measured 2 times: b|m|L2|tp1|cp1"]),
        (f"{LINE} --cell=d", ["not in the campaign: d"]),
        ("--cell='b|m|L2|tp1|cp1'", []),
        ('--cell "b|m|L2|tp1|cp1"', []),
        (r"--cell b\|m\|L2\|tp1\|cp1", []),
    ],
)
def test_cells_that_were_taken_out_put_in_or_doubled_are_named(plan, engine: str, new: str, found) -> None:
    assert list(edited(plan, engine, LINE, new)) == found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_runner_of_another_manifest_is_told(plan, engine: str) -> None:
    assert edited(plan, engine, plan.digest, "0" * 64) == (f"of another manifest: {'0' * 64}",)


@pytest.mark.parametrize(
    ("array", "missing"),
    [
        ("--array=0-1", ["c"]),
        ("--array=0,2", ["b"]),
        ("--array=0-2%1", []),
        ("--array=2  # only that", ["a", "b"]),
        ("--array=9 --array=0-2", []),
        ("--mem=1", []),
    ],
)
def test_slurm_starts_the_tasks_of_its_last_array_option(plan, array: str, missing: list[str]) -> None:
    found = edited(plan, "slurm", "--array=0-2", array)
    assert found == tuple(f"not measured: {name}|m|L2|tp1|cp1" for name in missing)


def test_slurm_reads_no_option_below_the_first_command(plan) -> None:
    assert edited(plan, "slurm", "\nset -euo", "\nset -euo pipefail\n#SBATCH --array=0-1\nset -euo") == ()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.sh", "echo 'open", "not a shell script"),
        ("x.yaml", "run: [", "not YAML"),
        ("x.yaml", "- run", "no SkyPilot task"),
        ("x.yaml", "run: 3", "no SkyPilot task"),
        ("x.sbatch", "#SBATCH --array=a-b\n", "--array=a-b"),
    ],
)
def test_what_is_not_of_its_grammar_is_refused_with_the_file(name: str, text: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        read_recipe({name: text})
    assert name in str(caught.value)
