"""Credentials stay in the process: what is printed, recorded or mirrored passes through here first."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote, urlsplit

MASK = "***"
LEAST_SECRET = 4
"""Shorter values are no secrets, and masking them would make any text unreadable."""

_SECRET_NAME = re.compile(r"TOKEN|PASSW|SECRET|CREDENTIAL|API_?KEY|ACCESS_KEY", re.IGNORECASE)
_NO_SECRET = re.compile(r"_(FILE|PATH|DIR|URL|URI)\Z", re.IGNORECASE)
_USERINFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/?#\"'<>]*@", re.IGNORECASE)
_FIELD = re.compile(
    r"(?P<name>[?&](?:access_|api_|auth_)?(?:token|password|secret|key)=)[^&\s\"'<>,;]+", re.IGNORECASE
)
_HEADER = re.compile(
    r"(?P<name>authorization['\"]?\s*[:=]\s*['\"]?(?:basic|bearer)\s+)[^\s\"',]+", re.IGNORECASE
)


def redact(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The text without credentials: users and passwords in addresses, tokens, and the environment's secrets.

    Args:
        text: what is about to leave the process.
        environ: whose secrets to look for; the process's environment where omitted.
    """
    hidden = _USERINFO.sub(rf"\g<scheme>{MASK}@", text)
    hidden = _FIELD.sub(rf"\g<name>{MASK}", hidden)
    hidden = _HEADER.sub(rf"\g<name>{MASK}", hidden)
    for secret in sorted(set(_secrets(os.environ if environ is None else environ)), key=len, reverse=True):
        if secret in hidden:
            hidden = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, hidden)
    return hidden


def redact_plain(value: Any, environ: Mapping[str, str] | None = None) -> Any:
    """Plain JSON values with every text in them redacted; names of members stay."""
    if isinstance(value, str):
        return redact(value, environ)
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {key: redact_plain(item, environ) for key, item in members.items()}
    if isinstance(value, (list, tuple)):
        return [redact_plain(item, environ) for item in cast("list[Any]", value)]
    return value


def _secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """Values of variables that are named like a secret, and passwords of addresses in any variable."""
    for name, value in environ.items():
        found: list[str] = []
        if _SECRET_NAME.search(name) and not _NO_SECRET.search(name):
            found.append(value.strip())
        if "://" in value and "@" in value:
            found.extend(_passwords(value))
        yield from (each for each in found if len(each) >= LEAST_SECRET)


def _passwords(address: str) -> Iterator[str]:
    try:
        password = urlsplit(address.strip()).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)
