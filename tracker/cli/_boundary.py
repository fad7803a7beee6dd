"""The border to the shell: every error of ours becomes a line and an exit code, never a traceback."""

import sys
from typing import NoReturn

import click

from schemas import LayoutLedgerError, missing_extra

EXIT_CODES = """\
Exit codes: 0 done; 1 other error; 2 bad input; 3 not found; 4 incomplete evidence; 5 a gate failed;
6 corruption; 7 store or server unavailable; 8 campaign ended with failed cells; 9 promotion refused;
10 a measurement could not run; 11 a memory budget holds no plan; 12 a split forward ended part way;
13 an extra is not installed; 130 interrupted."""


def run(command: click.Command) -> None:
    """Run a click command as the process's main program."""
    try:
        code = command.main(standalone_mode=False, prog_name="layoutledger")
    except LayoutLedgerError as error:
        _fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        # Commands import what they need when they run, so this is the one place that sees every absence.
        missing = missing_extra(error.name or "")
        if missing is None:
            raise
        _fail(str(missing), missing.exit_code)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 7)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(code)
