"""How a campaign's cells are shared out: those of one device and one shape need the same resources."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas import CellPlan, InvalidInputError, Manifest, ParallelShape


@dataclass(frozen=True, slots=True)
class Topology:
    """The cells of one device and one parallel shape, in the portions that one job each measures.

    Args:
        name: of letters, digits and hyphens, unique in the campaign: `tp2cp1`.
        device: `cpu` or `cuda`.
        shape: sizes of the parallel groups.
        files: paths of the files that its workloads are read from.
        portions: keys, in manifest order.

    """

    name: str
    device: str
    shape: ParallelShape
    files: tuple[str, ...]
    portions: tuple[tuple[str, ...], ...]

    def portion_name(self, number: int) -> str:
        """The topology's own name where one job measures all of it; else with the portion's number."""
        return self.name if len(self.portions) == 1 else f"{self.name}-{number}"


def split_cells(manifest: Manifest, cells_per_job: int | None = None) -> tuple[Topology, ...]:
    """The manifest's cells by device and shape, each once, in the manifest's order.

    Args:
        manifest: what is expected.
        cells_per_job: the most cells of a portion; all of a topology where omitted.

    Raises:
        InvalidInputError: a cell that no runner can measure or no command line can name.

    """
    if cells_per_job is not None and cells_per_job < 1:
        raise InvalidInputError(f"cells per job is {cells_per_job}; give 1 or more")
    groups: dict[tuple[str, ParallelShape], list[CellPlan]] = {}
    for plan in manifest.cells:
        _check_measurable(plan)
        groups.setdefault((plan.device, plan.identity.shape), []).append(plan)
    several = len({device for device, _ in groups}) > 1
    return tuple(
        Topology(
            name=shape.label().replace("|", "") + (f"-{device}" if several else ""),
            device=device,
            shape=shape,
            files=tuple(dict.fromkeys(path for plan in plans for path in _files(plan))),
            portions=_portions([plan.identity.key for plan in plans], cells_per_job),
        )
        for (device, shape), plans in groups.items()
    )


def _check_measurable(plan: CellPlan) -> None:
    key = plan.identity.key
    if plan.device == "recorded":
        raise InvalidInputError(f"cell {key} was imported: no runner can measure it; leave imports out")
    if "\0" in key:
        raise InvalidInputError(f"cell {key!r}: no command line can carry a NUL character; rename it")


def _files(plan: CellPlan) -> tuple[str, ...]:
    return (str(plan.workload.parameters["path"]),) if plan.workload.kind == "file" else ()


def _portions(keys: Sequence[str], size: int | None) -> tuple[tuple[str, ...], ...]:
    step = size or len(keys)
    return tuple(tuple(keys[start : start + step]) for start in range(0, len(keys), step))
