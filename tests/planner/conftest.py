"""Rows, tables and facts that the planner's tests share."""

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from planner import BUNDLE_DIGEST_TAG, TERMS, ModelGeometry, RuntimeFacts, ScoringFacts, build_prefix_tree
from planner import DeviceClass as PlannerDeviceClass
from planner import ParallelShape as PlannerShape
from schemas import (
    CellFacts,
    CellIdentity,
    Certificate,
    CertifiedCandidate,
    CertifiedCell,
    CoefficientBundle,
    CoefficientTable,
    DeviceClass,
    Domain,
    EvidenceRoot,
    Features,
    Fingerprint,
    FitArguments,
    Gates,
    Geometry,
    HoldoutRule,
    Metrics,
    ParallelShape,
    canonical_json,
    table_digest,
    wrap_certificate,
)

# A busy machine is no failure, and a run must not differ from the next.
settings.register_profile("planner", deadline=None, derandomize=True)
settings.load_profile("planner")

DENSE_TABLE = {
    "token_per_rank": 2002,
    "token_cp_exchange": 39,
    "token_tp_collective": 221,
    "gdn_token_per_rank": 594,
    "attention_token_cp_exchange": 27,
    "tiny_segment_per_layer": 219288,
    "level_cp_per_layer": 187255,
    "level_tp_per_layer": 684798,
    "gdn_level": 3336555,
    "gdn_level_tp": 1194872,
}
GOLDEN_FACTS = [
    ScoringFacts(1, 1, 32, 24, True),
    ScoringFacts(4, 1, 32, 24, True),
    ScoringFacts(1, 2, 32, 24, True),
    ScoringFacts(2, 1, 36, 0, False),
    ScoringFacts(4, 1, 36, 0, False),
    ScoringFacts(1, 1, 2, 0, False),
]


def rows_of(pieces):
    """Rows from lists of (segment id, length): the token of id s at position i is s * 1,000,000 + i."""
    return [
        np.concatenate([np.arange(length, dtype=np.int64) + segment * 1_000_000 for segment, length in row])
        for row in pieces
    ]


def grpo(groups, samples, lengths):
    """Rows of a system prompt shared by all, prompts shared by their samples, and completions."""
    system, prompt, completion = lengths
    return rows_of(
        [(1, system), (2 + group, prompt), (1000 + group * samples + sample, completion)]
        for group in range(groups)
        for sample in range(samples)
    )


@pytest.fixture(scope="session")
def dense_table():
    """The table that the origin project published for H200."""
    return DENSE_TABLE


@pytest.fixture(scope="session")
def golden_cases(shared):
    path: Path = shared / "evidence" / "golden_planner" / "public.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def make_rows():
    return rows_of


@pytest.fixture(scope="session")
def make_grpo():
    return grpo


def _grow(draw, most_rows, lengths):
    """Rows grown from one another: each takes some of an earlier one's pieces and goes on with new ones."""
    pieces = []
    fresh = 1
    for _ in range(draw(st.integers(1, most_rows))):
        row = []
        if pieces and draw(st.integers(0, 5)):
            source = draw(st.sampled_from(pieces))
            row = list(source[: draw(st.integers(0, len(source)))])
            if row and draw(st.integers(0, 3)) == 0:
                segment, length = row[-1]
                row[-1] = (segment, draw(st.integers(1, length)))
        for _ in range(draw(st.integers(0 if row else 1, 2))):
            row.append((fresh, draw(lengths)))
            fresh += 1
        pieces.append(row)
    return pieces


@st.composite
def _row_sets(draw, most_rows=9):
    lengths = draw(
        st.sampled_from([st.integers(1, 5), st.sampled_from([100, 200, 700]), st.integers(1, 1500)])
    )
    return _grow(draw, most_rows, lengths)


@pytest.fixture(scope="session")
def row_sets():
    """A strategy for pieces: shared starts, exact duplicates, prefixes of one another, several roots."""
    return _row_sets


@pytest.fixture(scope="session")
def facts_sets():
    return st.sampled_from(GOLDEN_FACTS)


@pytest.fixture(scope="session")
def tables():
    few = {"token_per_rank": 1}, {"tiny_segment_per_layer": 7, "gdn_level": 1}, {"token_cp_exchange": 3}
    return st.sampled_from([None, DENSE_TABLE, *few])


H200_GEOMETRY = {
    "hidden_size": 2560,
    "ffn_hidden_size": 9216,
    "num_attention_heads": 16,
    "num_query_groups": 4,
    "kv_channels": 256,
    "gdn_conv_kernel": 4,
    "gdn_key_head_dim": 128,
    "gdn_key_heads": 16,
    "gdn_value_head_dim": 128,
    "gdn_value_heads": 32,
}
CPU_GEOMETRY = {
    "hidden_size": 128,
    "ffn_hidden_size": 256,
    "num_attention_heads": 4,
    "num_query_groups": 2,
    "kv_channels": 32,
}


@dataclass
class Written:
    """A bundle in a folder, and how to change it."""

    folder: Path

    @property
    def path(self):
        return self.folder / "coefficients.json"

    def edit(self, change, name="coefficients.json"):
        content = json.loads((self.folder / name).read_bytes())
        change(content)
        (self.folder / name).write_text(json.dumps(content))

    @property
    def digest(self):
        return CoefficientBundle.parse(json.loads(self.path.read_bytes()), where="test").digest


def _certified_cell(device, dtype, geometry, shape):
    identity = CellIdentity(
        workload="w", family="grpo", model="m", layers=4, shape=ParallelShape(**shape), group=None
    )
    features = Features(packed_tokens=10, segment_count=1, max_depth=1, segments_below=(1,) * 8)
    candidate = CertifiedCandidate(label="no_sharing", features=features, median_ms=1.0, n=5, spread_pct=0.5)
    return CertifiedCell(
        cell=identity.key,
        identity=identity,
        facts=CellFacts(tp=identity.shape.tp, cp=identity.shape.cp, layers=4, gdn_layers=0, uses_gdn=False),
        fingerprint=Fingerprint(
            source="s",
            workload="w",
            device="a device",
            device_class=DeviceClass(**device),
            dtype=dtype,
            geometry=Geometry(**geometry),
        ),
        held_out=False,
        candidates=(candidate,),
    )


def _certificate(table_id, table, cells):
    metrics = Metrics(
        cells=1,
        ordered_pairs=0,
        pairwise_accuracy=None,
        median_regret_pct=None,
        p95_regret_pct=None,
        max_regret_pct=None,
    )
    shapes = tuple({cell.identity.shape.label(): cell.identity.shape for cell in cells}.values())
    first = cells[0].fingerprint
    return Certificate(
        campaign="c",
        table_id=table_id,
        fit="f",
        manifest_digest="0" * 64,
        expected_cells=tuple(cell.cell for cell in cells),
        fit_arguments=FitArguments(terms=tuple(table)),
        holdout=HoldoutRule(),
        required_samples=5,
        exclusions=(),
        table=table,
        table_digest=table_digest(table),
        metrics={"all": metrics},
        by_model={},
        by_shape={},
        by_family={},
        hand_set=metrics,
        gates=Gates(),
        verdicts=(),
        domain=Domain(
            device_classes=(first.device_class,),
            dtypes=(first.dtype,),
            geometries=(first.geometry,),
            shapes=shapes,
        ),
        evidence=EvidenceRoot(root="0" * 64, segments=("s",), events=1),
        cells=tuple(cells),
    )


TABLE_SETTINGS = {
    "h200": ({"capability": "sm_90", "memory": "above-120g"}, "bfloat16", H200_GEOMETRY, DENSE_TABLE),
    "cpu": (
        {"capability": "cpu:xeon", "memory": "below-70g"},
        "float32",
        CPU_GEOMETRY,
        {"token_per_rank": 5},
    ),
}


@pytest.fixture
def write_bundle(tmp_path):
    """Write a bundle of the named tables with their certificates; `h200` and `cpu` are there."""

    def write(*names, folder="bundle", shapes=({"tp": 1, "cp": 1}, {"tp": 1, "cp": 4})):
        target = tmp_path / folder
        target.mkdir()
        tables = []
        for name in names:
            device, dtype, geometry, coefficients = TABLE_SETTINGS[name]
            cells = [_certified_cell(device, dtype, geometry, shape) for shape in shapes]
            statement = wrap_certificate(_certificate(name, coefficients, cells))
            file = f"{name}.certificate.json"
            (target / file).write_text(json.dumps(statement.plain()))
            tables.append(
                CoefficientTable(
                    table_id=name,
                    coefficients=coefficients,
                    table_digest=table_digest(coefficients),
                    domain=statement.predicate.domain,
                    certificate_digest=statement.digest,
                    certificate_file=file,
                )
            )
        bundle = CoefficientBundle(description="for a test", tables=tuple(tables))
        (target / "coefficients.json").write_bytes(canonical_json(bundle.plain()))
        return Written(target)

    return write


@pytest.fixture
def h200_runtime():
    """A runtime inside the `h200` table's domain."""
    return RuntimeFacts(
        PlannerDeviceClass.cuda(9, 0, 141 * 2**30),
        "torch.bfloat16",
        ModelGeometry(**H200_GEOMETRY),
        PlannerShape(tp=1, cp=4),
        layers=32,
        gdn_layers=24,
    )


@pytest.fixture
def cpu_runtime():
    """A runtime inside the `cpu` table's domain."""
    return RuntimeFacts(
        PlannerDeviceClass.cpu("xeon", 8 * 2**30),
        "float32",
        ModelGeometry(**CPU_GEOMETRY),
        PlannerShape(),
        layers=4,
    )


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """Every test resolves anew, warns anew and knows no registry."""
    monkeypatch.setenv("LAYOUTLEDGER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("planner._version._warned", set())


def _random_rows(seed, most_decisions, rows=9):
    """Rows grown from one another by a seed; few enough decisions to try every layout."""
    found = random.Random(seed)
    short = seed % 3 == 0
    while True:
        pieces, fresh = [], 1
        for _ in range(found.randint(2, rows)):
            source = found.choice(pieces) if pieces and found.random() < 0.9 else []
            row = list(source[: found.randint(0, len(source))])
            for _ in range(found.randint(0 if row else 1, 2)):
                row.append((fresh, found.randint(1, 4) if short else found.choice([1, 64, 100, 300, 900])))
                fresh += 1
            pieces.append(row)
        arrays = rows_of(pieces)
        if 0 < len(build_prefix_tree(arrays).decisions) <= most_decisions:
            return arrays


def _random_price(seed):
    """Facts and a table whose floors, tiny segments and levels weigh about the same."""
    found = random.Random(seed)
    facts = ScoringFacts(
        found.randint(1, 7),
        found.randint(1, 5),
        found.randint(1, 3),
        found.randint(0, 1),
        found.random() < 0.5,
    )
    if seed % 4 == 0:
        return facts, None
    names = found.sample(list(TERMS), found.randint(1, len(TERMS)))
    return facts, {name: found.choice([0, 1, 2, found.randint(0, 2000)]) for name in names}


@pytest.fixture(scope="session")
def random_rows():
    return _random_rows


@pytest.fixture(scope="session")
def random_price():
    return _random_price


MODEL_NAME = "layout-cost"


@pytest.fixture(scope="session")
def empty_registry(tmp_path_factory):
    from mlflow import MlflowClient

    folder = tmp_path_factory.mktemp("registry")
    MlflowClient(f"sqlite:///{folder}/mlflow.db").search_registered_models()
    return folder / "mlflow.db"


class Registry:
    """A real MLflow registry on sqlite."""

    def __init__(self, database):
        from mlflow import MlflowClient

        self.uri = f"sqlite:///{database}"
        self.database = database
        self.client = MlflowClient(self.uri, self.uri)

    def register(self, bundle, *, digest=None, source=None):
        tags = {BUNDLE_DIGEST_TAG: digest or bundle.digest}
        return self.client.create_model_version(MODEL_NAME, source or str(bundle.folder), tags=tags)

    def vanish(self):
        self.database.rename(self.database.with_suffix(".away"))


@pytest.fixture
def registry(tmp_path, empty_registry):
    database = tmp_path / "mlflow" / "mlflow.db"
    database.parent.mkdir()
    shutil.copy(empty_registry, database)
    found = Registry(database)
    found.client.create_registered_model(MODEL_NAME)
    return found
