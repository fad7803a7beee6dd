"""What the pages say runs, links to something, and is in step with the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks_of
from tests.docs.session import Session

REPOSITORY = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CONTRIBUTING.md", "mlruns.example/README.md")
WRITTEN = [
    *TOP,
    *sorted(
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "docs").rglob("*.md")
        if path.parent.name != "reference"
    ),
]
RUNS = {"console", "python", "sql"}
READS = {"toml", "json", "text"}
COMMAND = re.compile(r"^(\$ )?(layoutledger|make|pip|python|mlflow) ", re.MULTILINE)

NOT_RUN = {
    ("README.md", "make test"),
    ("README.md", "layoutledger import art-certificate h200-dense-h2560.certificate.json"),
    ("CONTRIBUTING.md", "make test"),
    ("docs/tutorial.md", "source .venv/bin/activate"),
    ("docs/how-to/own-device.md", "layoutledger campaign run h200-single"),
    ("docs/how-to/own-device.md", "layoutledger register cpu-quick h200-single"),
    ("mlruns.example/README.md", "layoutledger quickstart --store FOLDER"),
}
"""Page and first command of each block that is not run; why stands in its mark."""


def blocks(name: str) -> list[Block]:
    return blocks_of(REPOSITORY / name, name)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_block_says_what_it_is_and_no_command_hides_in_one_that_is_not_run(name):
    for block in blocks(name):
        assert block.language in RUNS | READS, f"{block.where}: name the block's language"
        if block.language in READS:
            assert not COMMAND.search(block.text), f"{block.where}: a command in a block that is not run"
        if block.language == "console":
            assert block.commands, f"{block.where}: no line begins with `$ `"
        if "run" in block.marks:
            assert len(block.commands) == 1, f"{block.where}: one command is replaced at a time"


def test_what_is_not_run_is_known_and_has_a_reason():
    found = {
        (block.page, block.commands[0].line)
        for name in WRITTEN
        for block in blocks(name)
        if block.marks.get("not run")
    }
    assert found == NOT_RUN


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("name", [name for name in WRITTEN if blocks(name)])
def test_what_a_page_shows_is_what_happens(name, session: Session):
    for block in blocks(name):
        session.run(block)


@pytest.mark.parametrize("name", TOP)
def test_links_of_the_pages_outside_the_site_lead_somewhere(name):
    page = REPOSITORY / name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{name}: {target}"


def test_the_reference_is_made_from_this_code():
    """Run `make docs` where it is not."""
    sys.path.insert(0, str(REPOSITORY / "docs"))
    try:
        import make_reference
    finally:
        sys.path.pop(0)
    folder = REPOSITORY / "docs" / "reference"
    made = make_reference.pages()
    stale = [name for name, text in made.items() if (folder / name).read_text("utf-8") != text]
    assert stale == []
    assert {path.name for path in folder.iterdir()} == set(made)


@pytest.mark.slow(seconds=10)
def test_the_site_is_built_without_a_warning(tmp_path):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        tmp_path / "site",
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial.html").is_file()
