"""The model that a campaign names: a preset, and numbers of it that are set otherwise."""

from dataclasses import replace

from harness.model._config import ModelConfig
from harness.model._presets import preset
from schemas import InvalidInputError, ModelSpec


def model_config(spec: ModelSpec, dtype: str | None = None) -> ModelConfig:
    """The configuration that a cell's model stands for: preset, overrides, dtype.

    Raises:
        NotFoundError: no such preset.
        InvalidInputError: an override that the configuration does not have, or numbers that make no model.

    """
    base = preset(spec.preset)
    changes = dict(spec.parameters) if dtype is None else {**spec.parameters, "dtype": dtype}
    unknown = sorted(set(changes) - set(base.__dataclass_fields__))
    if unknown:
        raise InvalidInputError(
            f"preset {spec.preset!r} has no {', '.join(unknown)}; its numbers are "
            f"{', '.join(sorted(base.__dataclass_fields__))}"
        )
    for name, value in changes.items():
        wanted = type(getattr(base, name))
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise InvalidInputError(f"{name} is {value!r}; it must be of type {wanted.__name__}")
    return replace(base, **changes)
