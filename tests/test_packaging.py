"""What is shipped, what each extra brings, and the core alone in an environment of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas import EXTRAS

REPOSITORY = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
LOCK = REPOSITORY / "requirements.lock"
CERTIFICATE = next((REPOSITORY / "mlruns.example" / "certificates").glob("cpu-quick-*.json"))
PYTHONS = ("3.11", "3.12", "3.13")
BY_EXTRA = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}


def requirements(extra):
    """Distribution name to requirement, those of this project's own extras left out."""
    found = [Requirement(text) for text in BY_EXTRA[extra]]
    return {canonicalize_name(each.name): each for each in found if each.name != PROJECT["name"]}


def test_the_pinned_set_lies_within_the_ranges():
    pinned = dict(line.split("==") for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pinned.items()}
    for extra in BY_EXTRA:
        for name, requirement in requirements(extra).items():
            if extra != "gpu":  # its kernels need a device's own wheels
                assert requirement.specifier.contains(versions[name]), requirement


def test_an_error_names_the_extra_that_brings_the_module():
    brought_by = packages_distributions()
    for module, extra in EXTRAS.items():
        names = {canonicalize_name(name) for name in brought_by.get(module, ())}
        assert not names & set(requirements("core"))
        # pandas comes with mlflow.
        assert not names or module == "pandas" or names & set(requirements(extra)), (module, extra)


def test_the_readme_says_why_each_dependency_is_here():
    table = (
        (REPOSITORY / "README.md").read_text().split("## Why each dependency is here")[1].split("\n## ")[0]
    )
    named = set(re.findall(r"[a-z][a-z0-9-]+", table))
    assert {name for extra in BY_EXTRA for name in requirements(extra)} <= named


WITHOUT = """
import sys
from importlib.machinery import PathFinder
lacking = set({lacking!r})
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in lacking else super().find_spec(name, path, target)
# Before the path finder is not enough: a finder that knows nothing hands over to the next.
sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
sys.argv = ["layoutledger", *{arguments!r}]
from tracker.cli import main
main()
"""


def without(lacking, *arguments, folder):
    """Run a command as if these modules were not installed."""
    code = WITHOUT.format(lacking=sorted(lacking), arguments=list(map(str, arguments)))
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "LAYOUTLEDGER_STORE": str(folder / "ledger")}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder, timeout=400
    )


def test_a_certificate_is_checked_and_its_fit_repeated_by_the_core_alone(tmp_path):
    done = without(EXTRAS, "certificate", "check", CERTIFICATE, "--refit", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    checks = {check["name"]: check["passed"] for check in json.loads(done.stdout)["checks"]}
    assert checks["refit"] and all(checks.values())


@pytest.mark.parametrize(
    ("lacking", "arguments", "extra"),
    [
        ({"torch"}, ["quickstart"], "harness"),
        ({"torch"}, ["campaign", "run", "cpu-quick"], "harness"),
        ({"duckdb"}, ["campaign", "list"], "tracker"),
    ],
)
def test_a_verb_that_lacks_an_extra_names_it_and_changes_nothing(tmp_path, lacking, arguments, extra):
    (tmp_path / "ledger" / "log").mkdir(parents=True)
    done = without(lacking, *arguments, folder=tmp_path)
    assert done.returncode == 13, done.stdout + done.stderr
    assert f"pip install 'layoutledger[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "ledger" / "log").iterdir()) == []


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The source distribution, and the wheel built from it alone."""
    folder = tmp_path_factory.mktemp("build")
    # A folder of its own: building leaves files beside the sources.
    ignored = shutil.ignore_patterns(
        ".*_cache", ".git", ".venv", ".hypothesis", "__pycache__", "*.egg-info", "ledger"
    )
    source = shutil.copytree(REPOSITORY, folder / "source", ignore=ignored)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source],
        check=True,
        capture_output=True,
        text=True,
    )
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


@pytest.mark.slow(seconds=30)
def test_the_source_distribution_holds_what_building_testing_and_reading_needs(distributions):
    with tarfile.open(distributions[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for path in REPOSITORY.glob("docs/**/*.md"):
        assert path.relative_to(REPOSITORY).as_posix() in names
    for path in REPOSITORY.glob("tests/**/*.py"):
        assert path.relative_to(REPOSITORY).as_posix() in names
    assert {
        "Makefile",
        "requirements.lock",
        "README.md",
        "LICENSE",
        "harness/campaigns/cpu-quick.toml",
    } <= names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.slow(seconds=30)
def test_the_wheel_holds_the_packages_and_their_data_and_no_tests(distributions):
    names = zipfile.ZipFile(distributions[1]).namelist()
    packages = ("schemas", "planner", "fit", "harness", "tracker")
    for package in packages:
        for path in (REPOSITORY / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path.relative_to(REPOSITORY).as_posix() in names
    assert {name.partition("/")[0] for name in names} == {
        *packages,
        f"layoutledger-{PROJECT['version']}.dist-info",
    }


SELECT = """
import json, sys
from planner import ScoringFacts, build_prefix_tree, load, select_layout
version = load(sys.argv[1])
facts = ScoringFacts(cp_size=1, tp_size=1, layers=4, gdn_layers=3, uses_gdn=True)
picks = []
for rows in json.load(open(sys.argv[2])):
    tree = build_prefix_tree(rows)
    for coefficients in (None, version.tables[0].coefficients):
        found = select_layout(tree, facts, coefficients=coefficients)
        picks.append([list(found.decisions), list(found.score)])
heavy = {"torch", "mlflow", "duckdb", "scipy", "pandas"}
print(json.dumps({"picks": picks, "heavy": sorted(heavy & set(sys.modules))}))
"""


def find_python(version):
    """An interpreter of this version: this one, one on the path, or one that pyenv built; None if none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    built = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for program in ([on_path] if on_path else []) + sorted(built.glob(f"{version}*/bin/python")):
        # A shim stands on the path for versions that are not chosen.
        if subprocess.run([program, "-c", ""], capture_output=True).returncode == 0:
            return program
    return None


def pip(python, *arguments):
    """This environment's pip at work on another's packages, which then needs none of its own."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module", params=PYTHONS)
def core(request, distributions, tmp_path_factory):
    """An environment that holds the wheel and what it needs by itself; its folder of programs."""
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here")
    folder = tmp_path_factory.mktemp(f"core-{request.param}")
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    pip(folder / "bin" / "python", "install", "--no-compile", "--constraint", LOCK, distributions[1])
    return folder / "bin"


@pytest.fixture
def in_core(core, tmp_path):
    """Run a program of that environment in an empty folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(program, *arguments, code=0):
        done = subprocess.run(
            [core / program, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.mark.slow(seconds=60)
def test_the_core_holds_no_development_tool_and_nothing_heavy(core):
    listed = json.loads(pip(core / "python", "list", "--format", "json"))
    there = {canonicalize_name(entry["name"]) for entry in listed}
    heavy = {name for extra in ("tracker", "harness", "ray", "dev") for name in requirements(extra)}
    # rich brings the Markdown reader.
    assert not there & (heavy | {"pandas", "pip"}) - {"markdown-it-py"}
    pip(core / "python", "check")


@pytest.mark.slow(seconds=60)
def test_the_core_plans_from_a_bundle_as_here(in_core, tmp_path):
    from tracker.certificate import read_statement
    from tracker.registry import make_bundle
    from tracker.registry._bundle import pack

    statement = read_statement(CERTIFICATE)
    for name, content in pack(make_bundle([statement]), [statement]).files().items():
        (tmp_path / name).write_bytes(content)
    bundle = tmp_path / "coefficients.json"
    shared, rows = [1] * 300, []
    for prompt in range(2, 6):
        rows += [[*shared, *[prompt] * 200, *[10 * prompt + n] * 40] for n in range(4)]
    (tmp_path / "rows.json").write_text(json.dumps([rows, rows[:5], [[1, 2, 3]]]))
    arguments = ("-c", SELECT, bundle, tmp_path / "rows.json")
    there = json.loads(in_core("python", *arguments).stdout)
    here = subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True, text=True)
    assert there == json.loads(here.stdout)
    assert there["heavy"] == []
    assert any(decisions for decisions, _ in there["picks"])


@pytest.mark.slow(seconds=60)
def test_the_core_checks_signs_and_verifies_a_certificate(in_core):
    checked = json.loads(
        in_core("layoutledger", "certificate", "check", CERTIFICATE, "--refit", "--json").stdout
    )
    assert checked["passed"] is True
    in_core("layoutledger", "certificate", "keygen", "ann.pem")
    in_core("layoutledger", "certificate", "sign", CERTIFICATE, "--key", "ann.pem", "--output", "signed.json")
    verified = in_core("layoutledger", "certificate", "verify", "signed.json", "--key", "ann.pem.pub")
    assert verified.stdout.strip() == checked["digest"]


@pytest.mark.slow(seconds=60)
def test_the_core_says_which_extra_a_verb_needs(in_core, tmp_path):
    assert "pip install 'layoutledger[harness]'" in in_core("layoutledger", "quickstart", code=13).stderr
    shutil.copytree(REPOSITORY / "mlruns.example" / "log", tmp_path / "ledger" / "log")
    asked = in_core("layoutledger", "sql", "from campaigns", code=13)
    assert "pip install 'layoutledger[tracker]'" in asked.stderr
