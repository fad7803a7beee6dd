"""The warehouse: typed Parquet files of verified lines, and SQL views with stable names over them."""

from tracker.warehouse._evidence import EVIDENCE_UNITS, EvidenceReader
from tracker.warehouse._output import as_csv, as_json, as_text, write_parquet
from tracker.warehouse._project import project_segment
from tracker.warehouse._query import QueryResult
from tracker.warehouse._questions import Question, worked_questions
from tracker.warehouse._refresh import Refreshed
from tracker.warehouse._warehouse import Warehouse

__all__ = [
    "EVIDENCE_UNITS",
    "EvidenceReader",
    "QueryResult",
    "Question",
    "Refreshed",
    "Warehouse",
    "as_csv",
    "as_json",
    "as_text",
    "project_segment",
    "worked_questions",
    "write_parquet",
]
