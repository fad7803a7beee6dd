"""Tell the ledger which layouts a trainer ran, and the times it saw; the trainer never waits for it.

```python
from tracker.observe import SelectionObserver

observer = SelectionObserver("ledger")
plan = planner.select(rows, runtime)
...  # the step
observer.observe(plan, ms)
```

Importing this loads neither mlflow, duckdb nor torch. `layoutledger drift` reads what was told.
"""

from tracker.observe._observer import ObserverCounts, SelectionObserver

__all__ = ["ObserverCounts", "SelectionObserver"]
