"""The report tells what the events tell, changes nothing whatever they hold, and is the same page again."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from schemas import GateFailedError, Manifest, Statement
from tracker._campaigns import open_campaign
from tracker._certificates import certify_fit
from tracker._exclusions import exclude_cell
from tracker._fits import fit_campaign
from tracker._ledger import Ledger
from tracker._reporting import campaign_facts, report_path, write_report
from tracker.certificate import build_statement
from tracker.log import read_segment
from tracker.mirror import project_segment
from tracker.registry._bundle import make_bundle, pack
from tracker.registry._hold import place_hold, release_hold
from tracker.registry._review import record_review
from tracker.report import facts_of_events, render_report

HOSTILE = "<img src=x onerror=alert(1)>](javascript:alert(2)) **b** `c` {{ 7 * 7 }} &lt; \"'\u202e|"
VOID = {"meta", "br", "img", "hr", "wbr"}
DRAWN = {"svg", "rect", "line", "circle", "polygon", "path", "text", "title", "desc"}


class Page(HTMLParser):
    """A page as a browser takes it in: elements with their attributes, texts, nesting."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.headings: list[int] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


@pytest.fixture(scope="module")
def ledger(campaigns, tmp_path_factory):
    return campaigns.known_ledger(tmp_path_factory.mktemp("known") / "ledger")


@pytest.fixture(scope="module")
def recorded(ledger):
    return fit_campaign(ledger, "known")


@pytest.fixture(scope="module")
def page(ledger, recorded):
    return Page(render_report(facts_of_events(read_segment(ledger.log.find(recorded.id).path))))


def test_a_fits_page_tells_its_numbers(ledger, recorded, page):
    result = recorded.result
    for cell in ledger.manifest("known").keys:
        assert cell in page.text
    for term, value in result.table.items():
        assert [f"{value:,}" in row for row in page.rows if row and row[0] == term] == [True]
    for digest in (result.table_digest, result.evidence.root, result.manifest_digest, recorded.id):
        assert digest in page.text
    assert f"all {len(result.gates)} registered limits hold" in page.text
    assert "3 of 3 expected cells measured, 0 excluded" in page.text
    assert "test device" in page.text and "tp1|cp1" in page.text


def test_the_certificate_that_the_page_names_is_the_one_that_is_issued(ledger, recorded, page):
    issued = certify_fit(ledger, "known", recorded.id)
    assert issued.digest in page.text
    assert f"ledger/certificates/{issued.path.name} --refit" in page.text


def test_the_page_in_the_fits_run_and_the_written_one_say_the_same_of_the_fit(ledger, recorded):
    place = ledger.log.find(recorded.id)
    mirrored = project_segment(read_segment(place.path), place.path).texts["report.html"]
    assert facts_of_events(read_segment(place.path)).fit == campaign_facts(ledger, "known").fit
    path = write_report(ledger, "known")
    assert (
        path == report_path(ledger, "known") and path.read_text() == write_report(ledger, "known").read_text()
    )
    sections = re.findall(r"<section.*?</section>", mirrored, re.DOTALL)
    written = path.read_text()
    assert [part for part in sections if part not in written and 'id="digests"' not in part] == []


def test_the_page_can_be_read_by_anyone(page):
    assert ("html", {"lang": "en"}) in page.elements
    assert any(tag == "meta" and attrs.get("name") == "viewport" for tag, attrs in page.elements)
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    steps = [after - before for before, after in zip(page.headings, page.headings[1:], strict=False)]
    assert max(steps) == 1
    heads = [attrs for tag, attrs in page.elements if tag == "th"]
    assert heads and all(attrs.get("scope") in ("col", "row") for attrs in heads)
    tables = sum(tag == "table" for tag, _ in page.elements)
    assert tables == sum(tag == "caption" for tag, _ in page.elements)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.elements:
        href = attrs.get("href")
        assert href is None or href.removeprefix("#") in ids
        for name in (attrs.get("aria-labelledby") or "").split():
            assert name in ids


def test_the_page_needs_and_runs_nothing(page):
    assert not page.tags() & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for _, attrs in page.elements:
        assert not {"src", "srcset", "action", "style"} & set(attrs)
        assert not [name for name in attrs if name.startswith("on")]
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "script-src" not in policy
    assert "url(" not in "".join(page.texts) and "@import" not in "".join(page.texts)


def test_before_a_fit_the_page_says_what_is_missing_and_what_failed(campaigns, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    plan = campaigns.known_manifest()
    open_campaign(ledger, plan)
    empty = Page(render_report(campaign_facts(ledger, "known")))
    assert "Not fitted yet" in empty.text and "0 of 3 expected cells measured" in empty.text
    assert "Nothing was measured yet." in empty.text
    campaigns.record_cell(ledger, "known", plan.cells[0])
    fail(ledger, plan.cells[1].identity, "rank 1 was killed", "the last line of its log")
    exclude_cell(ledger, "known", plan.keys[2], reason="node 7 throttled", by="ada", reference="ticket 12")
    page = Page(render_report(campaign_facts(ledger, "known")))
    for words in (
        "1 of 3 expected cells measured, 1 excluded; 1 are not there",
        "killed, not resolved. rank 1 was killed",
        "the last line of its log",
        "by ada: node 7 throttled (see ticket 12)",
    ):
        assert words in page.text, words
    assert "svg" not in page.tags()


def fail(ledger, identity, message, tail):
    with ledger.log.open_segment("known", "attempt", {"cell": identity.key, "attempt": "1"}) as segment:
        started = {"cell": identity.key, "identity": identity.plain(), "number": 1}
        segment.append("cell.started", {**started, "engine": "local", "environment": {}})
        failed = {"cell": identity.key, "kind": "killed", "message": message, "log_tail": tail}
        segment.append("cell.failed", failed)


@pytest.fixture(scope="module")
def hostile(campaigns, tmp_path_factory):
    """A campaign whose every name and reason holds markup, fitted, with gates that cannot hold."""
    plain = campaigns.known_manifest().plain()
    plain["title"], plain["table_id"] = HOSTILE, HOSTILE[:100]
    for number, cell in enumerate(plain["cells"]):
        cell["identity"]["model"] = HOSTILE
        cell["identity"]["family"] = f"{HOSTILE}{number}"
    plain["cells"].append({**plain["cells"][0], "identity": {**plain["cells"][0]["identity"], "layers": 9}})
    plain["gates"]["pairwise_min_pct"] = 101.0
    manifest = Manifest.parse(plain, where="hostile")
    ledger = Ledger(tmp_path_factory.mktemp("hostile") / "ledger")
    open_campaign(ledger, manifest)
    for cell in manifest.cells[:3]:
        campaigns.record_cell(ledger, "known", cell)
    fail(ledger, manifest.cells[3].identity, HOSTILE, f"</pre>{HOSTILE}</details>")
    exclude_cell(ledger, "known", manifest.keys[3], reason=HOSTILE, by=HOSTILE, reference=HOSTILE)
    recorded = fit_campaign(ledger, "known")
    with pytest.raises(GateFailedError):
        certify_fit(ledger, "known", recorded.id)
    return ledger


def test_names_and_reasons_that_hold_markup_stay_text(hostile, page):
    found = Page(render_report(campaign_facts(hostile, "known")))
    assert found.tags() <= page.tags() | DRAWN | {"details", "summary", "pre", "b"}
    shown = HOSTILE.replace("\u202e", "\ufffd")
    assert found.text.count("<img src=x onerror=alert(1)>") > 20
    assert " ".join(shown.split()) in found.text
    assert "</pre><img" in found.text and "{{ 7 * 7 }}" in found.text and "\u202e" not in found.text
    for _, attrs in found.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "src"]


def test_notes_of_runs_and_descriptions_of_versions_stay_text(hostile, ledger, recorded):
    described = pack(make_bundle([bad := statement_of(hostile)]), [bad]).description()
    harmless = [*notes(ledger), pack(make_bundle([plain := statement_of(ledger)]), [plain]).description()]
    allowed = set().union(*(Page(rendered(text)).tags() for text in harmless)) | {"ul", "li", "ol"}
    told = [*notes(hostile), described]
    assert sum("img src=x" in Page(rendered(text)).text for text in told) > 5
    for text in told:
        page = Page(rendered(text))
        assert page.tags() <= allowed
        assert not [attrs for _, attrs in page.elements if "href" in attrs or "src" in attrs]


def rendered(text: str) -> str:
    """Markdown as a page that lets HTML through would show it."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)


def notes(ledger: Ledger) -> list[str]:
    plans = [project_segment(read_segment(place.path), place.path) for place in ledger.log.segments()]
    return [plan.tags["mlflow.note.content"] for plan in plans if "mlflow.note.content" in plan.tags]


def statement_of(ledger: Ledger) -> Statement:
    (fit_id, *_) = ledger.fits("known")
    result = ledger.fit("known", fit_id)
    segments = result.evidence.segments
    cells, exclusions = ledger.certified_cells("known", segments), ledger.exclusions("known", segments)
    return build_statement(fit_id, result, ledger.manifest("known"), cells, exclusions)


def test_failed_gates_are_told_first(hostile):
    found = Page(render_report(campaign_facts(hostile, "known")))
    assert re.search(r"Gates failed \d+ of \d+ registered limits do not hold", found.text)
    assert "no certificate" in found.text and "certificate refused: pairwise on pooled" in found.text
    assert "certificates/" not in found.text


def test_a_fit_recorded_before_there_were_analyses_is_told_too(ledger, recorded, page, monkeypatch):
    real = ledger.log.find(recorded.id).path
    events = [event for event in read_segment(real) if event.type not in ("fit.cell_judged", "fit.analysed")]
    monkeypatch.setattr("tracker._reporting.read_segment", lambda path: events)
    older = Page(render_report(campaign_facts(ledger, "known")))
    assert "recorded without ablations and intervals" in older.text
    assert [row[:6] for row in older.rows if row and row[0] in ledger.manifest("known").keys] != []
    assert recorded.result.table_digest in older.text


def test_what_was_decided_since_the_fit_is_told_in_order(campaigns, tmp_path):
    ledger = campaigns.known_ledger(tmp_path / "ledger")
    recorded = fit_campaign(ledger, "known")
    issued = certify_fit(ledger, "known", recorded.id)
    table = make_bundle([issued.statement]).tables[0]
    version = {
        "model": "layout-cost",
        "version": 2,
        "bundle_digest": "0" * 64,
        "tables": [
            {
                "table_id": table.table_id,
                "table_digest": table.table_digest,
                "certificate": issued.digest,
                "domain": table.domain.plain(),
            }
        ],
    }
    with ledger.log.open_segment("layout-cost", "registration", {"version": "2"}) as segment:
        segment.append("version.registered", version)
    record_review(ledger.log, issued.digest, "correctness", "clear", by="ann", reason="recomputed")
    place_hold(ledger.log, "2", by="bob", reason="a driver is suspected")
    release_hold(ledger.log, "2", by="bob", reason="it was not")
    moved = {"model": "layout-cost", "alias": "champion", "version": 2, "previous": None}
    with ledger.log.open_segment("layout-cost", "promotion", {"alias": "champion"}) as segment:
        segment.append("alias.moved", {**moved, "by": "bob", "reason": "good", "forced": True})
    told = [(each.what, each.by, each.reason) for each in campaign_facts(ledger, "known").decisions]
    assert told == [
        (f"certificate {issued.digest} issued", "", ""),
        ("registered as layout-cost version 2", "", ""),
        (f"review of certificate {issued.digest[:12]}: correctness clear", "ann", "recomputed"),
        ("hold placed on version 2", "bob", "a driver is suspected"),
        ("hold released", "bob", "it was not"),
        ("promote: alias champion of layout-cost to version 2, forced", "bob", "good"),
    ]


def test_what_a_fit_saw_of_each_cell_can_be_asked(ledger, recorded):
    rows = ledger.warehouse.query(f"SELECT * FROM fit_cells WHERE fit = '{recorded.id}'").records()
    cells = {cell.cell: cell for cell in campaign_facts(ledger, "known").cells}
    assert [row["cell"] for row in rows] == list(cells)
    for row in rows:
        told = cells[row["cell"]].selection
        assert (row["selected"], row["best"], row["hand_set"]) == (told.selected, told.best, told.hand_set)
        assert (row["regret_pct"], row["hand_set_regret_pct"]) == (told.regret_pct, told.hand_set_regret_pct)


def test_how_steady_each_attempt_was_is_told(campaigns, tmp_path):
    ledger, plan = Ledger(tmp_path / "ledger"), campaigns.known_manifest()
    open_campaign(ledger, plan)
    for cell, rounds in zip(
        plan.cells,
        (
            (1.0, 1.01, 0.99, 1.0, 1.005),
            (1.0, 1.01, 0.99, 1.0, 7.0),
            tuple(1.04**number for number in range(8)),
        ),
        strict=True,
    ):
        campaigns.record_cell(ledger, "known", cell, rounds=rounds)
    facts = campaign_facts(ledger, "known")
    calm, stalled, drifting = facts.cells
    assert (calm.drifting, calm.stalls) == (False, 0)
    assert (stalled.drifting, stalled.stalls) == (False, len(stalled.candidates))
    assert (drifting.drifting, drifting.stalls) == (True, 0)
    page = Page(render_report(facts))
    assert "1 of 3 cells grew slower or faster" in page.text
    assert "+31.6" in [cell for row in page.rows if row[0] == drifting.cell for cell in row]


def test_a_fit_recorded_without_it_says_how_steady_its_attempts_were_all_the_same(
    ledger, recorded, monkeypatch
):
    events = read_segment(ledger.log.find(recorded.id).path)
    now = facts_of_events(events)
    assert {cell.drifting for cell in now.cells} == {False}
    bare = dict.fromkeys(("stalls", "drift_pct", "drifting"))
    older = replace(now, cells=tuple(cell.model_copy(update=bare) for cell in now.cells))
    assert "grew slower" not in render_report(older)
    monkeypatch.setattr("tracker._reporting.facts_of_events", lambda events: older)
    assert campaign_facts(ledger, "known").cells == now.cells
