"""`recipe`: runners for machines and clusters, written from a campaign's manifest."""

from pathlib import Path

import click

from tracker.cli import _complete as complete
from tracker.cli._options import json_option
from tracker.cli._output import emit_json, say

_ENGINES = ("local", "skypilot", "slurm")


@click.command()
@click.argument("name_or_file", shell_complete=complete.campaigns_or_files)
@click.option(
    "--engine", type=click.Choice(_ENGINES), default="local", show_default=True, help="Who runs it."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    show_default="recipes/CAMPAIGN",
    help="Folder of the runners; made where it is missing.",
)
@click.option(
    "--cells-per-job",
    type=click.IntRange(min=1),
    metavar="N",
    help="Split each topology into jobs of at most N cells; 1 is a job a cell.",
)
@click.option("--accelerator", metavar="NAME", help="What the scheduler calls the GPU, as in H200.")
@click.option(
    "--install",
    metavar="REQUIREMENT",
    help="What pip installs on a SkyPilot machine, such as ./layoutledger.whl[gpu]; this version if omitted.",
)
@click.option("--check", is_flag=True, help="Write nothing; say whether the runners there fit the campaign.")
@json_option
def recipe(
    name_or_file: str,
    engine: str,
    output: Path | None,
    cells_per_job: int | None,
    accelerator: str | None,
    install: str | None,
    check: bool,
    as_json: bool,
) -> None:
    """Write runners for a campaign's cells: a shell script, SkyPilot tasks, or Slurm batch scripts.

    The manifest lies beside the runners, and each of them measures the cells that it names through
    `layoutledger campaign run`. With --check, runners that were edited since are read back: together they
    have to measure each of the campaign's cells, once.

    \b
    Example: layoutledger recipe cpu-full --engine slurm --cells-per-job 4
    Example: layoutledger recipe cpu-full --engine slurm --check
    """
    from harness import load_campaign
    from harness.recipes import RecipeOptions, check_runners, write_runners

    manifest = load_campaign(name_or_file)
    folder = output or Path("recipes", manifest.campaign)
    if check:
        files = check_runners(manifest, engine, folder)
    else:
        files = write_runners(manifest, engine, folder, RecipeOptions(cells_per_job, accelerator, install))
    if as_json:
        names = [str(file) for file in files]
        emit_json({"campaign": manifest.campaign, "digest": manifest.digest, "files": names})
        return
    for file in files:
        say(str(file))
    cells = f"each of the {len(manifest.cells)} cells of {manifest.campaign} once"
    say(f"these measure {cells}" if check else f"written, to measure {cells}")
