"""The typed columns of a projected segment: one row a line of the log.

What is asked often has columns of its own; `data` keeps the payload of every type but the sample, whose
columns hold all of it.
"""

import hashlib

from tracker.warehouse._arrow import arrow as pa
from tracker.warehouse._sources import rule_texts

_FEATURES = pa.struct(
    [
        ("packed_tokens", pa.int64()),
        ("segment_count", pa.int64()),
        ("max_depth", pa.int64()),
        ("segments_below", pa.list_(pa.int64())),
    ]
)

_SHAPE = pa.struct([("tp", pa.int32()), ("cp", pa.int32()), ("ep", pa.int32()), ("etp", pa.int32())])

_IDENTITY = pa.struct(
    [
        ("workload", pa.string()),
        ("family", pa.string()),
        ("model", pa.string()),
        ("layers", pa.int32()),
        ("shape", _SHAPE),
        ("group", pa.int32()),
    ]
)

_FACTS = pa.struct(
    [
        ("tp", pa.int32()),
        ("cp", pa.int32()),
        ("ep", pa.int32()),
        ("etp", pa.int32()),
        ("layers", pa.int32()),
        ("gdn_layers", pa.int32()),
        ("uses_gdn", pa.bool_()),
    ]
)

_GEOMETRY = pa.struct(
    [
        (name, pa.int64())
        for name in (
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "num_query_groups",
            "kv_channels",
            "gdn_conv_kernel",
            "gdn_key_head_dim",
            "gdn_key_heads",
            "gdn_value_head_dim",
            "gdn_value_heads",
            "moe_experts",
            "moe_ffn_hidden_size",
            "moe_shared_expert_ffn",
            "moe_topk",
        )
    ]
)

_FINGERPRINT = pa.struct(
    [
        ("source", pa.string()),
        ("workload", pa.string()),
        ("device", pa.string()),
        ("device_class", pa.struct([("capability", pa.string()), ("memory", pa.string())])),
        ("dtype", pa.string()),
        ("geometry", _GEOMETRY),
    ]
)

_CANDIDATE = pa.struct(
    [
        ("label", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("decisions", pa.list_(pa.int64())),
        ("features", _FEATURES),
        # Of imported candidates only: measured ones have their samples.
        ("median_ms", pa.float64()),
        ("n", pa.int64()),
        ("spread_pct", pa.float64()),
    ]
)

_EXPECTED = pa.struct(
    [
        ("cell", pa.string()),
        ("identity", _IDENTITY),
        ("dtype", pa.string()),
        ("device", pa.string()),
        ("held_out", pa.bool_()),
    ]
)

_SAMPLE = pa.struct(
    [
        ("cell", pa.string()),
        ("candidate", pa.string()),
        ("role", pa.string()),
        ("round", pa.int32()),
        ("position", pa.int32()),
        ("ms", pa.float64()),
        ("ms_ranks", pa.list_(pa.float64())),
        ("compile_events", pa.int32()),
        ("run_delay_pct", pa.list_(pa.float64())),
        ("loss", pa.float64()),
        ("usable", pa.bool_()),
        ("reason", pa.string()),
    ]
)

LINES = pa.schema(
    [
        ("campaign", pa.string()),
        ("segment", pa.string()),
        ("unit", pa.string()),
        ("seq", pa.int32()),
        ("id", pa.string()),
        ("type", pa.string()),
        ("version", pa.int32()),
        ("time", pa.timestamp("us")),
        ("host", pa.string()),
        ("pid", pa.int64()),
        ("tool", pa.string()),
        ("subject", pa.string()),
        ("digest", pa.binary(32)),
        ("cell", pa.string()),
        ("data", pa.string()),
        ("sample", _SAMPLE),
        ("identity", _IDENTITY),
        ("facts", _FACTS),
        ("fingerprint", _FINGERPRINT),
        ("candidates", pa.list_(_CANDIDATE)),
        ("automatic", _CANDIDATE),
        ("expected", pa.list_(_EXPECTED)),
    ]
)
"""One row a line; struct columns are null for the types that lack them."""

# Raised by hand when the same columns come to hold something else; changed columns and rules change it by
# themselves.
_EDITION = 2

LAYOUT = hashlib.sha256("\n".join([str(_EDITION), str(LINES), *rule_texts()]).encode()).hexdigest()[:16]
"""Which columns files hold, and by which rules: files of another layout are written again."""
