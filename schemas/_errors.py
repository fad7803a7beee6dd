"""The error tree: one base, one exit code a family, each also the built-in that a caller would expect."""


class LayoutLedgerError(Exception):
    """Base of every error that a user can cause or mend; its text says what, where and what to do."""

    exit_code = 1


class InvalidInputError(LayoutLedgerError, ValueError):
    """A file, manifest, argument or name that is not what it should be."""

    exit_code = 2


class NotFoundError(LayoutLedgerError, LookupError):
    """An unknown campaign, cell, version, alias or file."""

    exit_code = 3


class IncompleteEvidenceError(LayoutLedgerError):
    """A fit or certificate was asked for over evidence that does not carry it."""

    exit_code = 4


class GateFailedError(LayoutLedgerError):
    """The fitted table did not pass its registered gates; nothing was certified."""

    exit_code = 5


class CorruptionError(LayoutLedgerError):
    """The ledger, a certificate or a bundle does not verify; nothing was changed."""

    exit_code = 6


class StoreUnavailableError(LayoutLedgerError, OSError):
    """A tracking server or a folder cannot be reached, read or written."""

    exit_code = 7


class CampaignFailedError(LayoutLedgerError):
    """A campaign ended with failed or missing cells; they are in the ledger and can be resumed."""

    exit_code = 8


class PromotionRefusedError(LayoutLedgerError):
    """A version lacks what a promotion needs."""

    exit_code = 9


class MeasurementError(LayoutLedgerError, RuntimeError):
    """A cell could not be measured."""

    exit_code = 10


class MissingExtraError(LayoutLedgerError, ImportError):
    """What was asked for needs a package that is not installed; names the extra that brings it."""

    exit_code = 13


class UnhealthyError(LayoutLedgerError):
    """`layoutledger doctor` found something broken; each finding names its remedy."""

    exit_code = 14
