"""A campaign's report: one HTML page that needs nothing else."""

from tracker.report._facts import Decision, FitFacts, ReportFacts, facts_of_events
from tracker.report._render import REPORT_FILE, render_report

__all__ = ["REPORT_FILE", "Decision", "FitFacts", "ReportFacts", "facts_of_events", "render_report"]
