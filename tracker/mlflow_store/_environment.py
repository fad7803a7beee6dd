"""Which tracking store a ledger speaks to, and how MLflow has to behave in this process."""

import logging
import os
from pathlib import Path

from schemas import InvalidInputError, redact

TRACKING_VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE = Path("mlflow", "mlflow.db")
ARTIFACTS = "artifacts"
SQLITE = "sqlite:///"

# MLflow cuts long values silently unless told not to; a ledger would rather fail.
_FIXED = {"MLFLOW_TRUNCATE_LONG_VALUES": "false"}
# A silent server may hold up a measuring process for seconds, not for the minutes that MLflow would wait.
_DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def prepare_environment() -> None:
    """Settings that MLflow reads from the environment; to be called before it is imported."""
    os.environ.update(_FIXED)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # It prints the traceback of every refused statement before it raises; the error itself says it all.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def database_path(store: Path) -> Path:
    """The embedded tracking database of a ledger's folder."""
    return store / DATABASE


def embedded_uri(store: Path) -> str:
    """The address of a ledger's own tracking store."""
    return f"{SQLITE}{database_path(store).absolute()}"


def tracking_uri(store: Path) -> str:
    """`MLFLOW_TRACKING_URI` where it is set, else the store inside the ledger's folder.

    Raises:
        InvalidInputError: an address of a kind that a ledger cannot use.

    """
    uri = os.environ.get(TRACKING_VARIABLE, "").strip() or embedded_uri(store)
    if uri.startswith((SQLITE, "http://", "https://")):
        return uri
    raise InvalidInputError(
        f"{TRACKING_VARIABLE}={redact(uri)}: a ledger mirrors to a server (http:// or "
        "https://) or to a database of its own (sqlite:///); unset the variable to use the "
        "store inside the ledger"
    )


def sqlite_path(uri: str) -> Path | None:
    """The database file of a `sqlite:///` address, None for any other address."""
    return Path(uri.removeprefix(SQLITE)) if uri.startswith(SQLITE) else None
