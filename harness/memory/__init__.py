"""Memory as it is: allocator traces, what a model is known to hold, steps that stay inside a budget."""

from harness.memory._cpu_trace import record_cpu_trace
from harness.memory._cuda_trace import cuda_trace, record_cuda_trace
from harness.memory._facts import expert_facts, memory_signature, model_floor
from harness.memory._fc2 import fc2_buffers
from harness.memory._observe import ObservedStep, observe_step, record_trace, report_observation
from harness.memory._records import trace_of_records, trace_records
from harness.memory._step import AdmittedStep, BudgetedExecutor

__all__ = [
    "AdmittedStep",
    "BudgetedExecutor",
    "ObservedStep",
    "cuda_trace",
    "expert_facts",
    "fc2_buffers",
    "memory_signature",
    "model_floor",
    "observe_step",
    "record_cpu_trace",
    "record_cuda_trace",
    "record_trace",
    "report_observation",
    "trace_of_records",
    "trace_records",
]
