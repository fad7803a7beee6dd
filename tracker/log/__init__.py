"""The log is the truth: append-only segments of chained events (design section 4).

```python
log = Log(Path("ledger"))
with log.open_segment("cpu-quick", Unit.ATTEMPT, {"cell": "..."}) as segment:
    segment.append("sample.recorded", {...}, durable=False)
    segment.append("cell.completed", {...})
for place in log.segments("cpu-quick"):
    events = read_segment(place.path)
```
"""

from tracker.log._checkpoint import (
    Checkpoint,
    campaign_checkpoint,
    check_inclusion,
    inclusion_proof,
    leaf_of,
)
from tracker.log._crash import CRASH_VARIABLE, crash_point
from tracker.log._disk import Disk, claimed
from tracker.log._links import MOST_LINKS, LooseEnds, read_links
from tracker.log._log import Log
from tracker.log._merkle import MerkleTree, audit_path, merkle_root, path_root
from tracker.log._names import (
    OPEN_SUFFIX,
    SEALED_SUFFIX,
    SegmentPath,
    check_campaign,
    is_leftover,
    is_segment_file,
    segment_path,
)
from tracker.log._reader import DamagedSegmentError, iter_segment, read_open_segment, read_segment
from tracker.log._recover import Recovered, Recovery, recover
from tracker.log._seal import read_seal
from tracker.log._upcast import UPCASTS, upcast
from tracker.log._verify import Finding, verify_links, verify_log
from tracker.log._writer import SealedSegment, SegmentWriter

__all__ = [
    "CRASH_VARIABLE",
    "MOST_LINKS",
    "OPEN_SUFFIX",
    "SEALED_SUFFIX",
    "UPCASTS",
    "Checkpoint",
    "DamagedSegmentError",
    "Disk",
    "Finding",
    "Log",
    "LooseEnds",
    "MerkleTree",
    "Recovered",
    "Recovery",
    "SealedSegment",
    "SegmentPath",
    "SegmentWriter",
    "audit_path",
    "campaign_checkpoint",
    "check_campaign",
    "check_inclusion",
    "claimed",
    "crash_point",
    "inclusion_proof",
    "is_leftover",
    "is_segment_file",
    "iter_segment",
    "leaf_of",
    "merkle_root",
    "path_root",
    "read_links",
    "read_open_segment",
    "read_seal",
    "read_segment",
    "recover",
    "segment_path",
    "upcast",
    "verify_links",
    "verify_log",
]
