"""Fixtures that every floor's tests share."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evidence beside the checkout; a test that needs it skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "evidence").is_dir():
        pytest.skip("the evidence folder beside the checkout is absent")
    return folder
