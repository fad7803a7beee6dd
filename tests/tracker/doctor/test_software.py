"""Packages against their ranges; PyTorch asked in a process of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from tracker.doctor._software import check_packages, check_python, check_torch, torch_report, within

RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
HOW = st.sampled_from([">=", "<=", "==", "!=", ">", "<"])


@given(RELEASES, st.lists(st.tuples(HOW, RELEASES), max_size=3))
def test_ranges_are_read_as_packaging_reads_them(found, parts):
    ranges = ",".join(how + limit for how, limit in parts)
    assert within(found, ranges) == (found in SpecifierSet(ranges))


def test_this_interpreter_and_these_packages_are_supported():
    assert [each.state for each in check_python()] == ["ok"]
    assert [each.state for each in check_packages(["click>=8.2,<9", "numpy<3,>=2"])] == ["ok"]


@pytest.mark.parametrize(
    ("requirement", "state", "remedy"),
    [
        ("click>=99", "broken", "pip install 'click>=99'"),
        ('mlflow<1; extra == "tracker"', "warning", "pip install 'mlflow<1'"),
        ("no-such-package-at-all>=1", "broken", "pip install layoutledger"),
        ('no-such-package-at-all>=1; extra == "ray"', "note", "layoutledger[ray]"),
    ],
)
def test_what_does_not_fit_is_said(requirement, state, remedy):
    finding = next(each for each in check_packages([requirement]) if each.state != "ok")
    assert finding.state == state and remedy in finding.remedy


def test_what_only_developers_need_is_not_missed():
    assert [each.state for each in check_packages(['no-such-package-at-all>=1; extra == "dev"'])] == ["ok"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise ImportError('libcudart.so.12 is missing')", "libcudart.so.12 is missing"),
        ("import os\nos.abort()", "its process ended with -6"),
    ],
)
def test_a_torch_that_does_not_import_is_broken_and_ends_nothing_here(tmp_path, monkeypatch, source, says):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (finding,) = check_torch(torch_report())
    assert finding.state == "broken" and says in finding.found and "install" in finding.remedy


def test_devices_and_missing_back_ends_are_told():
    device = {"name": "NVIDIA H200", "capability": "90", "memory_bytes": 150754820096}
    report = {"version": "2.13", "threads": 1, "backends": ["gloo", "nccl"], "devices": [device]}
    assert "NVIDIA H200, sm_90, 140 GiB" in [each.found for each in check_torch(report)]
    states = [each.state for each in check_torch({**report, "backends": []})]
    assert states.count("broken") == 2
    assert [each.state for each in check_torch({"absent": True})] == ["note"]
