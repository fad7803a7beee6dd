"""Every runner of every engine, read back through its own grammar, is exactly the manifest."""

import subprocess

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness import campaign_names, load_campaign
from harness.recipes import MANIFEST_FILE, RUNNERS, RecipeOptions, read_recipe, write_recipe
from schemas import InvalidInputError, Manifest

ODD = [
    "plain",
    "two words",
    "it's",
    'a "quote"',
    "$(touch /tmp/owned)",
    "`id`",
    "${HOME}",
    "back\\slash",
    "a;b & c > d",
    "# no comment",
    "--cell",
    "-x",
    "*",
    "~",
    "line\nline",
    "dos\r\nline",
    "tab\t",
    " space ",
    ")",
    "esac ;;",
    "é",
    "🙂",
    "\x85",
    "\u2028",
    "\x1b[31m",
    "\x7f",
    "%s",
    "EOF",
    "!",
]
names = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12),
)


def runners(manifest: Manifest, engine: str, options: RecipeOptions) -> dict[str, str]:
    files = write_recipe(manifest, engine, options)
    assert files.pop(MANIFEST_FILE)
    return files


@pytest.mark.parametrize("cells_per_job", [None, 1, 4])
@pytest.mark.parametrize("campaign", campaign_names())
@pytest.mark.parametrize("engine", RUNNERS)
def test_the_runners_of_a_shipped_campaign_measure_exactly_its_cells(
    engine: str, campaign: str, cells_per_job: int | None
) -> None:
    manifest = load_campaign(campaign)
    options = RecipeOptions(cells_per_job, accelerator="H200")
    read = read_recipe(runners(manifest, engine, options))
    assert sorted(read.cells) == sorted(manifest.keys)
    assert read.digests == {manifest.digest}
    assert read.differences(manifest) == ()


@settings(max_examples=20)
@example(workloads=ODD, model="m", title="", cells_per_job=7)
@given(
    workloads=st.lists(names, min_size=1, max_size=4, unique=True),
    model=names,
    title=names,
    cells_per_job=st.sampled_from([None, 1, 2]),
)
def test_names_of_any_characters_are_read_back_as_they_were(
    manifest, workloads, model, title, cells_per_job
) -> None:
    plan = manifest(workloads, [{}, {"tp": 2}], model=model, title=title)
    for engine in RUNNERS:
        read = read_recipe(runners(plan, engine, RecipeOptions(cells_per_job)))
        assert read.differences(plan) == ()
        assert sorted(read.cells) == sorted(plan.keys)


@settings(max_examples=4)
@given(more=st.lists(names, max_size=3), title=names, cells_per_job=st.sampled_from([None, 3]))
def test_bash_itself_passes_on_exactly_these_names(manifest, run_script, more, title, cells_per_job) -> None:
    plan = manifest(list(dict.fromkeys([*ODD, *more])), [{}, {"cp": 2}], model="m $x 'y'", title=title)
    files = [
        *runners(plan, "local", RecipeOptions(cells_per_job)).values(),
        *(yaml.safe_load(text)["run"] for text in runners(plan, "skypilot", RecipeOptions()).values()),
        *runners(plan, "slurm", RecipeOptions(cells_per_job)).values(),
    ]
    ran = [run_script(text) for text in files]
    assert [each.code for each in ran] == [0] * len(files), [each.output for each in ran]
    # Once for each of the three engines.
    assert sorted(cell for each in ran for cell in each.cells) == sorted(plan.keys * 3)


@pytest.mark.parametrize("engine", RUNNERS)
def test_equal_manifests_give_equal_bytes(manifest, engine: str) -> None:
    first, second = (write_recipe(manifest(["a", "b"]), engine) for _ in range(2))
    assert first == second


def test_the_manifest_beside_the_runners_is_the_manifest(tmp_path) -> None:
    for name in campaign_names():
        manifest = load_campaign(name)
        (tmp_path / "manifest.json").write_text(write_recipe(manifest, "local")[MANIFEST_FILE])
        assert load_campaign(tmp_path / "manifest.json") == manifest


@pytest.mark.parametrize("engine", RUNNERS)
def test_a_cell_that_no_runner_can_measure_is_refused(manifest, engine: str) -> None:
    for devices, workload in ((["recorded"], "a"), (["cpu"], "a\0b")):
        with pytest.raises(InvalidInputError, match="cell"):
            write_recipe(manifest([workload], devices=devices), engine)
    with pytest.raises(InvalidInputError, match="local"):
        write_recipe(manifest(["a"]), "lokal")
    with pytest.raises(InvalidInputError, match="1 or more"):
        write_recipe(manifest(["a"]), engine, RecipeOptions(cells_per_job=0))


def test_a_runner_is_told_in_its_head_and_the_title_cannot_leave_its_comment(manifest) -> None:
    plan = manifest(["a"], title="fine\nexit 1\u2028\x1b")
    for engine in RUNNERS:
        for text in runners(plan, engine, RecipeOptions()).values():
            head = [line for line in text.split("\n") if line.startswith("# ")]
            assert head[0] == "# odd: fine exit 1"
            assert plan.digest in head[1]


def test_bash_accepts_the_grammar_of_every_script(manifest, tmp_path) -> None:
    plan = manifest(ODD, [{}, {"tp": 2}])
    for engine in ("local", "slurm"):
        for name, text in runners(plan, engine, RecipeOptions(cells_per_job=5)).items():
            (tmp_path / name).write_bytes(text.encode())
            done = subprocess.run(["bash", "-n", tmp_path / name], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")
