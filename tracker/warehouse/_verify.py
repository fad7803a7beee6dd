"""Every way in which the warehouse is not what was written from the log; nothing is changed."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb

from schemas import CorruptionError, LayoutLedgerError, digest_file
from tracker.log import SEALED_SUFFIX, Finding, Log, SegmentPath, read_seal, segment_path
from tracker.warehouse._arrow import arrow, parquet
from tracker.warehouse._catalogue import CATALOGUE, Catalogue, Part, load_catalogue
from tracker.warehouse._columns import LINES
from tracker.warehouse._compact import part_selects
from tracker.warehouse._folder import PARQUET, Folder
from tracker.warehouse._kinds import KINDS, RULES, create_rules, kind_of_lines, read_files
from tracker.warehouse._loose import TABLED, loose_table
from tracker.warehouse._project import project_segment
from tracker.warehouse._refresh import warehouse_views
from tracker.warehouse._sources import quoted
from tracker.warehouse._views import Views, read_views_seal

# Which attempts are at work changes without a refresh; that view is a hint, and no evidence.
_VIEWS = (
    "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND view_name <> '_running' "
    "ORDER BY view_name"
)


BATCH = 20_000
"""So many rows of a part are compared at once."""


def verify_warehouse(log: Log, folder: Folder) -> list[Finding]:
    """Compare each file with the digest noted when it was written, and each segment's root with its seal.

    What the log has and the warehouse has not yet is no finding. Who changes a file and its note alike is
    found by `compare_warehouse`.
    """
    findings: list[Finding] = []
    for catalogue in _catalogues(folder):
        findings += _uncatalogued(folder, catalogue.campaign)
        findings += damaged_files(folder, catalogue)
        findings += _foreign_segments(log, folder, catalogue)
    return [*findings, *_damaged_views(folder)]


def compare_warehouse(log: Log, folder: Folder) -> list[Finding]:
    """Project the log again and compare contents: files, compacted parts, views; reads everything."""
    findings: list[Finding] = []
    with duckdb.connect() as connection:
        create_rules(connection)
        for catalogue in _catalogues(folder):
            places = {place.segment: place for place in log.segments(catalogue.campaign)}
            held = [places[segment] for segment in sorted(catalogue.segments) if segment in places]
            findings += [item for place in held for item in _other_rows(folder, place)]
            for part in catalogue.parts:
                findings += _other_part(connection, folder, catalogue.campaign, part)
    views = warehouse_views(log, folder)
    # Views of another program are made anew before anyone reads them.
    if folder.views.exists() and read_views_seal(folder).get("texts") == views.texts:
        findings += [*_other_views(views), *_other_tables(views)]
    return findings


def require_whole(folder: Folder, campaign: str) -> None:
    """Refuse a campaign whose Parquet files were changed: what is certified is read from whole ones.

    Raises:
        CorruptionError: naming each file.

    """
    findings = damaged_files(folder, load_catalogue(folder, campaign))
    if findings:
        files = ", ".join(finding.where for finding in findings)
        raise CorruptionError(
            f"campaign {campaign}: changed since they were written from the log: {files}; "
            "nothing was made of them, delete the warehouse folder and it is made again"
        )


def damaged_files(folder: Folder, catalogue: Catalogue) -> list[Finding]:
    """Files that are not what was written."""
    noted = {folder.segment(catalogue.campaign, key): item.digest for key, item in catalogue.segments.items()}
    for part in catalogue.parts:
        for kind in KINDS:
            noted[folder.part(catalogue.campaign, part.name, kind)] = part.digests[kind]
    found = ((path, expected, _digest(path)) for path, expected in noted.items())
    return [
        Finding("warehouse file", folder.relative(path), expected, actual)
        for path, expected, actual in found
        if actual != expected
    ]


def _catalogues(folder: Folder) -> Iterator[Catalogue]:
    for place in sorted((folder.root / "segments").glob("*/")):
        yield load_catalogue(folder, place.name)


def _uncatalogued(folder: Folder, campaign: str) -> Iterator[Finding]:
    place = folder.segments(campaign)
    if not load_catalogue(folder, campaign).segments and any(place.glob(f"*{PARQUET}")):
        where = folder.relative(place / CATALOGUE)
        yield Finding("warehouse catalogue", where, "the files beside it", "none, or not readable")


def _foreign_segments(log: Log, folder: Folder, catalogue: Catalogue) -> Iterator[Finding]:
    places = {place.segment: place for place in log.segments(catalogue.campaign)}
    for segment, stored in sorted(catalogue.segments.items()):
        actual = _sealed_root(places.get(segment))
        if actual != stored.root:
            where = folder.relative(folder.segment(catalogue.campaign, segment))
            yield Finding("warehouse segment", where, f"root {stored.root}, as projected", f"log: {actual}")


def _sealed_root(place: SegmentPath | None) -> str:
    if place is None:
        return "no such segment"
    try:
        return read_seal(place).root
    except LayoutLedgerError as error:
        return str(error)


def _damaged_views(folder: Folder) -> Iterator[Finding]:
    if not folder.views.exists():
        return
    seal, actual = read_views_seal(folder), _digest(folder.views)
    expected = seal.get("sha256", "a note of its digest")
    if actual not in (expected, seal.get("previous")):
        yield Finding("warehouse views", folder.relative(folder.views), expected, actual)


def _digest(path: Path) -> str:
    try:
        return digest_file(path)
    except OSError as error:
        return error.strerror or str(error)


def _other_rows(folder: Folder, place: SegmentPath) -> Iterator[Finding]:
    path = folder.segment(place.campaign, place.segment)
    try:
        same = parquet.read_table(path).equals(project_segment(place))
        found = "other rows"
    except (OSError, ValueError, LayoutLedgerError) as error:
        same, found = False, str(error)
    if not same:
        yield Finding("warehouse rows", folder.relative(path), f"the lines of {place.path.name}", found)


def _other_part(
    connection: duckdb.DuckDBPyConnection, folder: Folder, campaign: str, part: Part
) -> Iterator[Finding]:
    single = [Part(segment, 0, 0, (segment,), {}) for segment in part.segments]
    for kind, select in part_selects(folder, campaign, single).items():
        path = folder.part(campaign, part.name, kind)
        held = f"SELECT * FROM {read_files([path])}"
        of = f"its {len(part.segments)} segments"
        yield from _other(connection, kind, folder.relative(path), select, held, of)


def _other(
    connection: duckdb.DuckDBPyConnection, kind: str, where: str, select: str, held: str, of: str
) -> Iterator[Finding]:
    order = "ALL" if kind in RULES else "segment, seq"
    try:
        found = _difference(connection, f"SELECT * FROM ({select})", held, order)
    except duckdb.Error as error:
        found = str(error)
    if found:
        yield Finding("warehouse rows", where, f"the {kind} of {of}", found)


def _difference(connection: duckdb.DuckDBPyConnection, expected: str, held: str, order: str) -> str:
    if _alike(connection, f"{expected} ORDER BY {order}", f"{held} ORDER BY {order}"):
        return ""
    counts = [
        connection.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {two})").fetchall()[0][0]
        for one, two in ((held, expected), (expected, held))
    ]
    return f"{counts[0]} rows too much, {counts[1]} missing" if any(counts) else ""


def _alike(connection: duckdb.DuckDBPyConnection, one: str, two: str) -> bool:
    """Whether two ordered results have the same rows: a batch at a time, much faster than set algebra."""
    readers: list[Any] = [connection.cursor().sql(query).to_arrow_reader(BATCH) for query in (one, two)]
    return all(None not in pair and pair[0].equals(pair[1]) for pair in zip_longest(*readers, fillvalue=None))


def _other_views(views: Views) -> Iterator[Finding]:
    folder = views.folder
    with tempfile.TemporaryDirectory(prefix="layoutledger-") as scratch:
        fresh = Path(scratch) / folder.views.name
        # The views' texts alone: the tables are compared with the log.
        replace(views, loose={}).build(fresh)
        expected, found = _view_texts(fresh), _view_texts(folder.views)
    for name in _differing(expected, found):
        yield Finding(
            "warehouse view",
            f"{folder.relative(folder.views)}: {name}",
            expected.get(name, "no such view"),
            found.get(name, "no such view"),
        )


def _other_tables(views: Views) -> Iterator[Finding]:
    """The rows that the views file holds of loose segments, beside those segments' lines in the log."""
    folder = views.folder
    log = Log(folder.store)
    files = [log.folder / path.parent.name / f"{path.stem}{SEALED_SUFFIX}" for path in views.loose]
    with duckdb.connect() as connection:
        create_rules(connection)
        projected = [project_segment(segment_path(file)) for file in files]
        lines = arrow.concat_tables([LINES.empty_table(), *projected])
        # A table: what is registered is not seen by the connection's cursors.
        connection.register("projected", lines).execute("CREATE TABLE lines AS FROM projected")
        connection.execute(f"ATTACH {quoted(str(folder.views))} AS held (READ_ONLY)")
        for kind in TABLED:
            name = loose_table(kind)
            where, held = f"{folder.relative(folder.views)}: {name}", f"SELECT * FROM held.{name}"
            select = kind_of_lines(kind, "lines")
            yield from _other(connection, kind, where, select, held, "segments in no part")


def _view_texts(path: Path) -> dict[str, str]:
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            return dict(connection.execute(_VIEWS).fetchall())
    except duckdb.Error as error:
        return {"(file)": str(error)}


def _differing(one: dict[str, str], two: dict[str, str]) -> Iterable[str]:
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
