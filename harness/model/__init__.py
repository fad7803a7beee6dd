"""The model that is measured: configurations here; its torch modules are imported by the worker alone."""

from harness.model._config import ModelConfig
from harness.model._presets import PRESETS, preset

__all__ = ["PRESETS", "ModelConfig", "preset"]
