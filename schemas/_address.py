"""Requests to a server's address, which may hold credentials of its own."""

from base64 import b64encode
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request


def server_request(uri: str, page: str) -> Request:
    """A request for a server's page; the address's own user and password become a header, as MLflow does it.

    Raises:
        ValueError: the address is none.
    """
    parts = urlsplit(uri.rstrip("/"))
    address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    headers: dict[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return Request(f"{address}/{page}", headers=headers)
