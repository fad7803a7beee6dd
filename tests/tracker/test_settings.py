"""Settings: which source holds, and what is said of a file that is wrong."""

from pathlib import Path

import pytest

from schemas import InvalidInputError
from tracker._settings import NAMES, read_file, read_settings, settings_files, variables

SAYS = {
    "LAYOUTLEDGER_STORE": "from-environment",
    "MLFLOW_TRACKING_URI": "http://environment:1",
}


@pytest.fixture
def places(tmp_path: Path):
    """A working directory inside a project, and a user's configuration folder; both with a file."""
    work = tmp_path / "project" / "deep" / "deeper"
    work.mkdir(parents=True)
    (tmp_path / "project" / "layoutledger.toml").write_text('store = "data/ledger"\nby = "project"\n')
    user = tmp_path / "config" / "layoutledger"
    user.mkdir(parents=True)
    (user / "config.toml").write_text('by = "user"\ncache = "~/cache"\nhttp_timeout_s = 3\n')
    return work, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}


def held(places, **environ):
    work, base = places
    return {each.name: each for each in read_settings(work, {**base, **environ})}


def test_environment_before_project_before_user_before_default(places, tmp_path):
    found = held(places, **SAYS)
    assert (found["store"].value, found["store"].source) == ("from-environment", "LAYOUTLEDGER_STORE")
    assert found["tracking_uri"].value == "http://environment:1"
    project, user = tmp_path / "project" / "layoutledger.toml", tmp_path / "config/layoutledger/config.toml"
    assert (found["by"].value, found["by"].source) == ("project", str(project))
    assert (found["http_timeout_s"].value, found["http_timeout_s"].source) == ("3", str(user))
    assert [each.name for each in held(places).values() if each.source == "default"] == ["tracking_uri"]
    assert list(found) == list(NAMES)


def test_a_relative_place_is_meant_from_the_file_s_folder(places, tmp_path):
    assert held(places)["store"].value == str(tmp_path / "project" / "data" / "ledger")
    assert held(places)["cache"].value == str(Path("~/cache").expanduser())


def test_the_nearest_project_file_holds_alone(places, tmp_path):
    work, base = places
    (work / "layoutledger.toml").write_text('tracking_uri = "sqlite:///here.db"\n')
    found = held(places)
    assert found["tracking_uri"].value == f"sqlite:///{work}/here.db"
    assert found["store"].source == "default" and found["by"].value == "user"
    assert settings_files(work, base)[0] == work / "layoutledger.toml"


def test_without_a_home_or_files_the_defaults_hold(tmp_path):
    assert {each.source for each in read_settings(tmp_path, {})} == {"default"}


def test_only_what_files_say_becomes_a_variable(places):
    settings = held(places, **SAYS).values()
    assert set(variables(tuple(settings))) == {
        "LAYOUTLEDGER_BY",
        "LAYOUTLEDGER_CACHE",
        "MLFLOW_HTTP_REQUEST_TIMEOUT",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('store = "a"\n\nstoer = "b"\n', r"x\.toml:3: stoer: Extra inputs.*\n.*store, tracking_uri, by"),
        ("# a comment\nby = 7\n", r"x\.toml:2: by: .*string"),
        ('store = ""\n', r"x\.toml:1: store: "),
        ("http_timeout_s = 0\n", r"x\.toml:1: http_timeout_s: .*greater than or equal to 1"),
        ("[store]\na = 1\n", r"x\.toml:1: store: "),
        ("store = \n", r"x\.toml: not TOML: .*line 1"),
        ('by = "a"\nby = "b"\n', r"x\.toml: not TOML: .*line 2"),
    ],
)
def test_a_wrong_file_is_refused_with_file_line_and_field(tmp_path, text, says):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=says):
        read_file(path)


def test_a_wrong_address_is_refused_without_its_password(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('tracking_uri = "postgresql://ann:hunter2@db/x"\n')
    with pytest.raises(InvalidInputError, match="begins with http://") as refused:
        read_file(path)
    assert "hunter2" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="cannot be read as text"):
        read_file(path)
