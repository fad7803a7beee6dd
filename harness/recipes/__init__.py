"""Runner scripts for a campaign's cells, written from its manifest, and the cells read back from them."""

from harness.recipes._folder import check_runners, write_runners
from harness.recipes._read import RecipeCells, read_recipe
from harness.recipes._shell import MANIFEST_FILE
from harness.recipes._topologies import Topology, split_cells
from harness.recipes._write import RUNNERS, RecipeOptions, write_recipe

__all__ = [
    "MANIFEST_FILE",
    "RUNNERS",
    "RecipeCells",
    "RecipeOptions",
    "Topology",
    "check_runners",
    "read_recipe",
    "split_cells",
    "write_recipe",
    "write_runners",
]
