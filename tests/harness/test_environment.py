import json
import subprocess
import sys

from harness._environment import cpu_device_class, cpu_name, environment_record, source_digest
from schemas import canonical_json

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 106
model name\t: Some Processor @ 2.80GHz

processor\t: 1
vendor_id\t: Other
"""


def test_a_processor_is_a_class_by_vendor_family_and_model() -> None:
    assert cpu_device_class(CPUINFO).capability == "cpu:GenuineIntel-6-106"
    assert cpu_name(CPUINFO) == "Some Processor @ 2.80GHz"


def test_without_processor_facts_the_machine_is_the_class() -> None:
    assert cpu_device_class("").capability.startswith("cpu:")
    assert cpu_device_class("").capability != "cpu:"


def test_the_record_is_plain_json_and_names_what_matters() -> None:
    record = environment_record(1)
    assert json.loads(canonical_json(record)) == record
    assert {"source_digest", "versions", "device", "memory_total_bytes", "load", "affinity"} <= set(record)


def test_the_source_digest_is_the_same_in_every_process() -> None:
    code = "from harness._environment import source_digest; print(source_digest())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == source_digest()


def test_the_runner_and_campaign_files_load_no_torch() -> None:
    code = "import harness, sys; harness.load_campaign('cpu-quick'); print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
