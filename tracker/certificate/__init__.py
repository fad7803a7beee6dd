"""The certificate: built from the views, written as a file, recomputed by whoever doubts it.

Signatures are in `tracker.certificate.signing`, which loads a library that nothing else here needs.
"""

from tracker._fitting import fit_cells
from tracker.certificate._build import build_statement, measured_domain
from tracker.certificate._check import Check, check_file, check_log, check_refit
from tracker.certificate._diff import CertificateDiff, ChangedSelection, diff_certificates
from tracker.certificate._file import (
    SIGNED,
    certificate_name,
    read_statement,
    render_statement,
    write_certificate,
)
from tracker.certificate._sources import CertificateSource

__all__ = [
    "SIGNED",
    "CertificateDiff",
    "CertificateSource",
    "ChangedSelection",
    "Check",
    "build_statement",
    "certificate_name",
    "check_file",
    "check_log",
    "check_refit",
    "diff_certificates",
    "fit_cells",
    "measured_domain",
    "read_statement",
    "render_statement",
    "write_certificate",
]
