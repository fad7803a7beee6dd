"""What forwards were seen to take of memory, kept in the ledger: record it, and price the next ones by it.

```python
from pathlib import Path

from tracker.memory import Ledger, memory_profile, record_memory

ledger = Ledger(Path("ledger"))
record_memory(ledger, "production", [("memory.observed", seen)])
pricing = Pricing(floor, memory_profile(ledger, signature))
```

`memory_model` is all that was learned as one record: `tracker.registry.make_bundle` takes it into a
coefficient version, whose `memory.pricing(signature, floor)` a trainer calls.
"""

from tracker._ledger import Ledger
from tracker.memory._profiles import (
    MEMORY_TYPES,
    memory_model,
    memory_profile,
    memory_profiles,
    memory_trace,
    record_memory,
)

__all__ = [
    "MEMORY_TYPES",
    "Ledger",
    "memory_model",
    "memory_profile",
    "memory_profiles",
    "memory_trace",
    "record_memory",
]
