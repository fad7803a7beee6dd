"""Bundles of tables with certificates, written as files, and a real registry to put them into."""

import json
from dataclasses import dataclass
from pathlib import Path

from planner import BUNDLE_DIGEST_TAG
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

MODEL_NAME = "layout-cost"
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


NARROW_AND_WIDE = ({"tp": 1, "cp": 1}, {"tp": 1, "cp": 4})


def write_bundle(target, *names, shapes=NARROW_AND_WIDE):
    """Write a bundle of the named tables with their certificates; `h200` and `cpu` are there."""
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
