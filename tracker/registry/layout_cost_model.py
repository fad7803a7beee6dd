# pyright: basic
"""The registered model's code for MLflow: the predicted work of layouts given as rows of features.

MLflow stores this file as source beside `coefficients.json`; nothing is pickled. The planner never runs it:
it reads the JSON alone.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from planner import SEGMENT_THRESHOLDS, LayoutFeatures, ScoringFacts, score_features

BELOW = [f"segments_below_{threshold}" for threshold in SEGMENT_THRESHOLDS]


class LayoutCostModel(PythonModel):
    """Scores each row with the production score of the table that `table_id` names, or of the only one."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the bundle."""
        bundle = json.loads(Path(context.artifacts["coefficients"]).read_text("utf-8"))
        self._tables = {table["table_id"]: table["coefficients"] for table in bundle["tables"]}

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Predicted work: 1/1024 milli-microseconds under a table, 1/1024 microseconds under version 1."""
        frame: Any = model_input
        works = [self._work(row) for row in frame.to_dict("records")]
        return pd.DataFrame({"work": pd.Series(works, dtype="int64")}, index=model_input.index)

    def _work(self, row: dict[Any, Any]) -> int:
        features = LayoutFeatures(
            packed_tokens=int(row["packed_tokens"]),
            segment_count=int(row["segment_count"]),
            max_depth=int(row["max_depth"]),
            segments_below=tuple(int(row[name]) for name in BELOW),
        )
        gdn_layers = int(row["gdn_layers"])
        facts = ScoringFacts(
            cp_size=int(row["cp"]),
            tp_size=int(row["tp"]),
            layers=int(row["layers"]),
            gdn_layers=gdn_layers,
            uses_gdn=gdn_layers > 0,
        )
        return score_features(features, facts, self._table(row), shared_decisions=_shared(row))[0]

    def _table(self, row: dict[Any, Any]) -> dict[str, int] | None:
        wanted = row.get("table_id")
        if not self._tables:
            return None
        if wanted is None and len(self._tables) == 1:
            return next(iter(self._tables.values()))
        if wanted not in self._tables:
            raise ValueError(f"table_id {wanted!r}: expected one of {', '.join(sorted(self._tables))}")
        return self._tables[wanted]


def _shared(row: dict[Any, Any]) -> int | None:
    """Version 1 alone reads the number of shared decisions."""
    value = row.get("shared_decisions")
    return None if value is None or value != value else int(value)


set_model(LayoutCostModel())
