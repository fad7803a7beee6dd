"""Register a campaign: its manifest enters the log before any sample."""

from collections.abc import Iterable, Iterator

from fit import check_arguments
from schemas import CampaignOpened, InvalidInputError, Manifest, NotFoundError, Unit
from tracker._ledger import Ledger
from tracker.log import Finding, Log, iter_segment
from tracker.mlflow_store import file_lock
from tracker.registry import MODEL

_LOCK = ".register.lock"


def open_campaign(ledger: Ledger, manifest: Manifest) -> bool:
    """Record the manifest before the first sample; True if it was new, False if it stands there already.

    Runners that start together register it once: the first records it, the others find it there.

    Raises:
        InvalidInputError: the name is taken, by another manifest or by the registry, or there is no such
            fitting method or term; nothing was changed.
        StoreUnavailableError: the folder cannot be written.
    """
    ledger.log.disk.make_folder(ledger.store)
    with file_lock(ledger.store / _LOCK):
        if manifest.campaign in ledger.campaigns():
            _require_same(ledger.manifest(manifest.campaign), manifest)
            return False
        _require_usable(manifest)
        opened = CampaignOpened(manifest=manifest, manifest_digest=manifest.digest)
        with ledger.log.open_segment(manifest.campaign, "campaign") as segment:
            segment.append("campaign.opened", opened.plain())
        return True


def require_cells(manifest: Manifest, cells: Iterable[str]) -> None:
    """Refuse keys that are none of the manifest's.

    Raises:
        NotFoundError: names them, and the cells there are.
    """
    unknown = [repr(key) for key in cells if key not in manifest.keys]
    if unknown:
        known = "\n  ".join(manifest.keys)
        raise NotFoundError(
            f"campaign {manifest.campaign} has no cell {', '.join(unknown)}; its cells are:\n  {known}"
        )


def verify_registrations(log: Log) -> Iterator[Finding]:
    """Each registration of a campaign under another manifest than its first, which is the one that holds.

    Ledgers that were filled apart can bring one; its attempts followed other rules. The log has to verify.
    """
    first: dict[str, str] = {}
    for place in log.segments():
        for event in iter_segment(place.path):
            if event.seq == 0 and event.data["unit"] != Unit.CAMPAIGN:
                break
            if event.type == "campaign.opened":
                where = f"{place.path}:{event.seq + 1}"
                digest = CampaignOpened.parse(event.data, where=where).manifest.digest
                expected = first.setdefault(place.campaign, digest)
                if digest != expected:
                    yield Finding("another manifest", where, expected, digest)


def _require_usable(manifest: Manifest) -> None:
    if manifest.campaign == MODEL:
        raise InvalidInputError(
            f"campaign {MODEL!r}: the registry keeps its own records under this name; choose another"
        )
    check_arguments(manifest.fit)


def _require_same(registered: Manifest, manifest: Manifest) -> None:
    if registered.digest != manifest.digest:
        raise InvalidInputError(
            f"campaign {manifest.campaign!r} is registered with another manifest "
            f"({registered.digest[:12]}, this one is {manifest.digest[:12]}); "
            "a registered manifest does not change: give the campaign another name"
        )
