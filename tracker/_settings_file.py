"""What a settings file may say."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from schemas import InvalidInputError, Record, redact

KINDS = ("http://", "https://", "sqlite:///")


def _address(text: str) -> str:
    if not text.startswith(KINDS):
        raise ValueError(f"expected an address that begins with {', '.join(KINDS)}")
    return text


Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class SettingsFile(Record):
    """The file as it is written; a name that is not said is absent."""

    model_config = ConfigDict(strict=True)

    store: Text | None = None
    tracking_uri: Annotated[Text, AfterValidator(_address)] | None = None
    by: Text | None = None
    cache: Text | None = None
    http_timeout_s: Annotated[int, Field(ge=1, le=3600)] | None = None


def parse_settings(content: Mapping[str, Any], where: Callable[[str], str]) -> dict[str, Any]:
    """The settings that a file says.

    Args:
        content: the file's values.
        where: file and line of a field, by its name.

    Raises:
        InvalidInputError: one line a field that is wrong; names what may be set.
    """
    try:
        said = SettingsFile.model_validate(dict(content))
    except ValidationError as error:
        problems = [
            f"{where(str(problem['loc'][0]))}: {problem['loc'][0]}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        ]
        names = ", ".join(SettingsFile.model_fields)
        raise InvalidInputError(
            redact("\n".join(problems))
            + f"\nthe names that may be set are {names}; see `layoutledger config show`"
        ) from error
    return said.model_dump(exclude_none=True)
