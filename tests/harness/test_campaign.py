import os
from pathlib import Path

import pytest

from harness._campaign import campaign_names, load_campaign, parse_campaign, parse_shape
from harness._campaign_rules import idle_holdout_names
from harness._corpus import corpus_digest
from harness._model_spec import model_config
from harness._workload import generate_rows
from harness.model import preset
from schemas import (
    AdaptiveStop,
    InvalidInputError,
    Manifest,
    NotFoundError,
    ParallelShape,
    digest_file,
)

TEXT = """
campaign = "mine"
table_id = "mine"
[fit]
terms = ["token_per_rank"]
[holdout]
odd_groups_of = ["g"]
[models.m]
preset = "hybrid-small"
parameters = { layers = 8 }
[models.a]
preset = "attention-small"
[workloads.g]
kind = "grpo"
parameters = { prompts = 2, completions = 2, prompt = 8, completion = 4 }
[workloads.u]
kind = "unique"
family = "control"
parameters = { rows = 3, length = 5 }
[[cells]]
workloads = ["g"]
models = ["m", "a"]
shapes = ["tp1cp1", "tp2cp1"]
groups = [0, 1]
[[cells]]
workloads = ["u"]
models = ["a"]
shapes = ["tp1cp1"]
"""


def test_a_file_expands_to_every_combination_in_order() -> None:
    manifest = parse_campaign(TEXT, "mine.toml")
    assert manifest.keys == (
        "g|m|L8|tp1|cp1|g0",
        "g|m|L8|tp1|cp1|g1",
        "g|m|L8|tp2|cp1|g0",
        "g|m|L8|tp2|cp1|g1",
        "g|a|L4|tp1|cp1|g0",
        "g|a|L4|tp1|cp1|g1",
        "g|a|L4|tp2|cp1|g0",
        "g|a|L4|tp2|cp1|g1",
        "u|a|L4|tp1|cp1",
    )
    assert manifest.holdout_keys() == tuple(key for key in manifest.keys if key.endswith("g1"))
    assert [cell.identity.family for cell in manifest.cells] == ["grpo"] * 8 + ["control"]
    assert manifest.cells[0].model.parameters == {"layers": 8}


def test_the_same_file_gives_the_same_manifest_digest() -> None:
    assert parse_campaign(TEXT, "a").digest == parse_campaign(TEXT, "b").digest


@pytest.mark.parametrize("name", campaign_names())
def test_every_shipped_campaign_expands(name: str) -> None:
    manifest = load_campaign(name)
    assert manifest.campaign == name
    held = manifest.holdout_keys()
    assert held
    assert len(held) < len(manifest.keys)
    models = {cell.identity.model for cell in manifest.cells}
    assert {plan.identity.model for plan in manifest.cells if plan.identity.key in held} == models
    assert {plan.identity.model for plan in manifest.cells if plan.identity.key not in held} == models


def test_the_gpu_campaign_has_whole_widths_on_one_device_and_fits_its_memory() -> None:
    cells = load_campaign("h200-single").cells
    assert {(c.device, c.dtype, c.identity.shape.world_size) for c in cells} == {("cuda", "bfloat16", 1)}
    kept = {"attention": 112_500, "gdn": 422_000}  # bytes of a packed token for one layer's backward
    for cell in cells:
        config = model_config(cell.model, cell.dtype)
        assert config.geometry() == preset(cell.model.preset).geometry()
        rows = generate_rows(cell.workload.kind, cell.workload.parameters, vocabulary=config.vocab)
        tokens = sum(len(row) for row in rows)
        assert tokens * sum(kept[kind] for kind in config.kinds) < 70e9


def test_a_path_is_read_as_a_file_and_its_workload_files_are_found_beside_it(tmp_path) -> None:
    text = TEXT.replace('kind = "unique"', 'kind = "file"').replace(
        "{ rows = 3, length = 5 }", '{ path = "r.jsonl" }'
    )
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(NotFoundError, match=r"mine.toml: workloads.u: .*r.jsonl does not exist"):
        load_campaign(tmp_path / "mine.toml")
    (tmp_path / "r.jsonl").write_text("[1, 2]\n")
    manifest = load_campaign(tmp_path / "mine.toml")
    # Bound by its bytes: a changed file is another campaign.
    digest = digest_file(tmp_path / "r.jsonl")
    assert manifest.cells[-1].workload.parameters == {"path": str(tmp_path / "r.jsonl"), "digest": digest}


def test_an_adaptive_rule_is_part_of_the_manifest_and_a_manifest_without_one_is_as_before() -> None:
    plain = parse_campaign(TEXT, "mine.toml")
    adaptive = parse_campaign(TEXT + "[protocol]\nadaptive = { tie_pct = 4 }\n", "mine.toml")
    assert adaptive.protocol.adaptive == AdaptiveStop(tie_pct=4.0, error_pct=5.0)
    assert "adaptive" not in plain.plain()["protocol"]
    assert Manifest.parse(adaptive.plain(), where="here") == adaptive
    assert adaptive.digest != plain.digest
    with pytest.raises(InvalidInputError, match=r"protocol.adaptive.tie_pct"):
        parse_campaign(TEXT + "[protocol]\nadaptive = { tie_pct = 0 }\n", "mine.toml")


def test_an_unknown_campaign_lists_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="cpu-quick"):
        load_campaign("cpu-quik")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[fit]", "[fit", ["not TOML"]),
        ('campaign = "mine"', 'campaign = "Mine!"', ["campaign"]),
        ('campaign = "mine"\n', "", ["campaign", "required"]),
        ("[holdout]", "[hold]", ["hold"]),
        ('preset = "hybrid-small"', 'preset = "hybrid-smal"', ["models.m", "hybrid-small"]),
        ("{ layers = 8 }", "{ layer = 8 }", ["models.m", "layer", "layers"]),
        ("{ layers = 8 }", '{ layers = "8" }', ["models.m", "layers", "int"]),
        ("{ layers = 8 }", "{ heads = 3 }", ["models.m", "heads"]),
        ('kind = "unique"', 'kind = "uniqe"', ["workloads.u", "uniqe", "unique"]),
        ("prompt = 8", "promt = 8", ["workloads.g", "promt"]),
        ('workloads = ["u"]', 'workloads = ["v"]', ["entry 2", "v", "g, u"]),
        ('models = ["a"]', 'models = ["b"]', ["entry 2", "models", "b"]),
        ('"tp2cp1"', '"tp2cp"', ["entry 1", "tp2cp"]),
        ('"tp2cp1"', '"tp4cp1"', ["entry 1", "m", "kv_heads"]),
        ('"tp2cp1"', '"tp1cp1ep2"', ["entry 1", "experts"]),
        ('"tp2cp1"', '"tp1cp1"', ["more than once", "g|m|L8|tp1|cp1|g0"]),
        ("groups = [0, 1]", "groups = [-1]", ["entry 1", "group"]),
        ("[fit]", "[protocol]\nrequired = 9\n[fit]", ["protocol.required", "9"]),
        ("[fit]", "[protocol]\nwarmup_rounds = 9\n[fit]", ["warmup_limit"]),
        ("[fit]", "[protocol]\nround = 9\n[fit]", ["protocol.round"]),
        ("[fit]", "[protocol]\nrounds = 1000001\n[fit]", ["protocol.rounds", "1000000"]),
        ("[fit]", "[protocol]\nthreads_per_rank = 5000\n[fit]", ["protocol.threads_per_rank"]),
        (
            'terms = ["token_per_rank"]',
            'terms = ["token_per_rnk"]',
            ["fit.terms", "token_per_rnk", "gdn_level"],
        ),
        ('terms = ["token_per_rank"]', 'terms = ["gdn_level", "gdn_level"]', ["fit.terms", "more than once"]),
        ('odd_groups_of = ["g"]', 'odd_groups_of = ["h"]', ["holdout", "'h'", "none of the 9 cells"]),
        ('odd_groups_of = ["g"]', 'contains = ["|"]', ["holdout", "each of the 9 cells"]),
        ("groups = [0, 1]", "groups = [4294967296]", ["entry 1", "group"]),
        ("groups = [0, 1]", 'groups = [0, 1]\ndtype = "float7"', ["float7", "float32"]),
        # The last block measures the same model in a dtype that there is.
        ('models = ["m", "a"]', 'models = ["a"]\ndtype = "float7"', ["float7", "float32"]),
        ("{ layers = 8 }", "{ layers = 1000000000 }", ["models.m", "layers"]),
        ('"tp2cp1"', '"tp\u0662cp1"', ["entry 1", "\u0662"]),
        ("groups = [0, 1]", "groups = [0, true]", ["cells.0.groups.1", "True"]),
        ("groups = [0, 1]", "layouts = [[true]]", ["cells.0.layouts.0.0", "True"]),
        ("[fit]", "[protocol]\nrounds = true\n[fit]", ["protocol.rounds", "not true or false"]),
        ("[fit]", "[protocol]\ntimeout_s = true\n[fit]", ["protocol.timeout_s", "not true or false"]),
        ("[fit]", "[gates]\nregret_max_pct = -1\n[fit]", ["gates.regret_max_pct", "at least 0"]),
        ("[fit]", "[gates]\nregret_max_pct = nan\n[fit]", ["gates.regret_max_pct"]),
        ("[fit]", "[gates]\npairwise_min_pct = 101\n[fit]", ["gates.pairwise_min_pct", "at most 100"]),
        ("[fit]", "deep = " + "[" * 3000 + "]" * 3000 + "\n[fit]", ["not TOML"]),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(old: str, new: str, words: list[str]) -> None:
    assert old in TEXT
    with pytest.raises(InvalidInputError) as caught:
        parse_campaign(TEXT.replace(old, new, 1), "mine.toml")
    for word in ["mine.toml", *words]:
        assert word in str(caught.value)


def test_names_of_the_holdout_that_are_part_of_no_key_are_told() -> None:
    rule = 'contains = ["tp2", "tp3"]\nodd_groups_of = ["g", "u"]'
    manifest = parse_campaign(TEXT.replace('odd_groups_of = ["g"]', rule), "mine.toml")
    assert idle_holdout_names(manifest) == ("tp3", "u")


def test_one_cell_alone_needs_no_other_side_of_the_holdout() -> None:
    text = TEXT.replace('models = ["m", "a"]', 'models = ["a"]').replace('"tp1cp1", "tp2cp1"', '"tp1cp1"')
    alone = text.replace("groups = [0, 1]", "groups = [0]").partition('[[cells]]\nworkloads = ["u"]')[0]
    assert len(parse_campaign(alone, "mine.toml").cells) == 1


def test_a_device_is_no_corpus(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(InvalidInputError, match="no file"):
        corpus_digest(str(tmp_path / "rows.jsonl"))


def test_shapes_are_written_by_the_sizes_that_differ_from_one() -> None:
    assert parse_shape("tp2cp1") == ParallelShape(tp=2)
    assert parse_shape("cp4etp2ep2") == ParallelShape(cp=4, ep=2, etp=2)
    for wrong in ("", "tp", "tp2tp2", "tp2 cp1", "xp2", "tp0"):
        with pytest.raises(InvalidInputError):
            parse_shape(wrong)
