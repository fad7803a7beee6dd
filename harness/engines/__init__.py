"""Engines: where the cells of a campaign run (design, section 7); the runner judges and records."""

from harness.engines._local import LocalEngine
from harness.engines._open import ENGINES, open_engine
from harness.engines._protocol import Engine, Reports

__all__ = ["ENGINES", "Engine", "LocalEngine", "Reports", "open_engine"]
