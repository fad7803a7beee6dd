"""The base of every record at a border: frozen, exact, nothing unknown let in."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas._errors import InvalidInputError


class Record(BaseModel):
    """An immutable record; unknown fields are refused, so that a typing error is not an unread setting."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    def plain(self) -> dict[str, Any]:
        """The record as plain JSON values (tuples become lists, enums their values)."""
        return self.model_dump(mode="json")

    @classmethod
    def parse(cls, value: Any, *, where: str) -> Self:
        """Validate plain JSON values.

        Raises:
            InvalidInputError: naming `where` and each field that is wrong.

        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidInputError(f"{where}: {wrong_fields(error)}") from error


def wrong_fields(error: ValidationError) -> str:
    """One line a wrong field: its path, what is wrong, what was given."""
    lines: list[str] = []
    for problem in error.errors(include_url=False):
        path = ".".join(str(part) for part in problem["loc"]) or "(whole)"
        given = repr(problem.get("input"))
        lines.append(f"{path}: {problem['msg']} (given {given[:80]})")
    return "; ".join(lines)
