import warnings
from dataclasses import replace

import pytest

from planner import OutsideDomainWarning, ParallelShape, load


def test_each_runtime_gets_the_table_measured_on_it(write_bundle, h200_runtime, cpu_runtime, dense_table):
    version = load(write_bundle("h200", "cpu").path)
    assert version.select_scoring(h200_runtime).table_id == "h200"
    assert version.select_scoring(h200_runtime).coefficients == dense_table
    assert version.select_scoring(cpu_runtime).coefficients == {"token_per_rank": 5}


def test_outside_every_domain_version_1_scores_and_one_warning_says_so(write_bundle, h200_runtime):
    version = load(write_bundle("h200", "cpu").path)
    outside = replace(h200_runtime, dtype="float16")
    with pytest.warns(OutsideDomainWarning, match="h200: dtype float16 was not measured; cpu: device class"):
        found = version.select_scoring(outside)
    assert (found.table_id, found.coefficients) == ("hand-set", None)
    assert [table for table, _ in found.refusals] == ["h200", "cpu"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert version.select_scoring(outside) == found


def test_every_domain_is_warned_about(write_bundle, h200_runtime):
    version = load(write_bundle("h200").path)
    for shape in (ParallelShape(tp=8), ParallelShape(tp=4)):
        with pytest.warns(OutsideDomainWarning):
            version.select_scoring(replace(h200_runtime, shape=shape))


def test_version_1_has_no_table_and_warns_of_nothing(write_bundle, h200_runtime):
    version = load(write_bundle().path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert version.select_scoring(h200_runtime).coefficients is None


def test_coefficients_of_a_loaded_table_cannot_be_changed(write_bundle):
    table = load(write_bundle("cpu").path).tables[0]
    with pytest.raises(TypeError):
        table.coefficients["token_per_rank"] = 1
