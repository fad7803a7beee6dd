"""The border to the shell: every error of ours becomes a line and an exit code, never a traceback."""

import os
import sys
import traceback
from typing import NoReturn

import click

from schemas import LayoutLedgerError, missing_extra, redact
from tracker.cli._visible import visible

EXIT_CODES = """\
Exit codes: 0 done; 1 other error; 2 bad input; 3 not found; 4 incomplete evidence; 5 a gate failed;
6 corruption; 7 store or server unavailable; 8 campaign ended with failed cells; 9 promotion refused;
10 a measurement could not run; 11 a memory budget holds no plan; 12 a split forward ended part way;
13 an extra is not installed; 14 the doctor found something broken; 70 a defect of the tool;
130 interrupted; 141 the reader of a pipe went away. `layoutledger errors` says more."""

PROGRAM = "layoutledger"
TRACEBACK_VARIABLE = "LAYOUTLEDGER_TRACEBACK"
DEFECT = 70
READER_GONE = 141


def run(command: click.Command) -> None:
    """Run a click command as the process's main program."""
    try:
        code = command.main(standalone_mode=False, prog_name=PROGRAM)
    except LayoutLedgerError as error:
        _fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        # Commands import what they need when they run, so this is the one place that sees every absence.
        missing = missing_extra(error.name or "")
        _fail(str(missing) if missing else _defect(error), missing.exit_code if missing else DEFECT)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(_usage(error), error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 7)
    except Exception as error:
        _fail(_defect(error), DEFECT)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(visible(redact(f"error: {message}")), err=True)
    sys.exit(code)


def _usage(error: click.ClickException) -> str:
    """What is wrong with the command line, and where its help is."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    return f"{message}\nsee `{context.command_path} --help`" if context else message


def _defect(error: Exception) -> str:
    """An error that no one foresaw: what and where, for a report; its traceback where that is asked for."""
    if os.environ.get(TRACEBACK_VARIABLE):
        click.echo(redact("".join(traceback.format_exception(error))), err=True)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return (
        f"this is a defect of layoutledger, not yours: {type(error).__name__}: {error}{where}; the ledger "
        f"keeps what was recorded. Please report it, with what {TRACEBACK_VARIABLE}=1 shows"
    )
