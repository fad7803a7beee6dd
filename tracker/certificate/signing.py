"""Signed certificates: a DSSE envelope (secure-systems-lab/dsse v1.0) over the statement, by ed25519 keys.

The payload is the canonical statement, so that its sha256 is the certificate's digest.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import securesystemslib.dsse
import securesystemslib.signer
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.exceptions import FormatError, VerificationError

from schemas import CorruptionError, InvalidInputError, Statement, canonical_json
from tracker.certificate._file import read_statement

# The library is typed in part only.
Envelope: Any = securesystemslib.dsse.Envelope
CryptoSigner: Any = cast("Any", securesystemslib.signer).CryptoSigner
SSlibKey: Any = cast("Any", securesystemslib.signer).SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PRIVATE_MODE = 0o600


def generate_keys(private: Path) -> Path:
    """Write a new ed25519 key (PKCS#8 PEM, for its owner alone) and its public half beside it.

    Returns:
        the public key's file: the private one's name and ``.pub``.

    Raises:
        InvalidInputError: one of the files is there already, or cannot be written.
    """
    key, public = Ed25519PrivateKey.generate(), private.with_name(f"{private.name}.pub")
    open_half = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    if public.exists():
        raise InvalidInputError(f"{public} is there already: a key is not replaced, choose another name")
    try:
        private.touch(PRIVATE_MODE, exist_ok=False)
        private.write_bytes(secret)
        public.write_bytes(open_half)
    except FileExistsError as error:
        raise InvalidInputError(
            f"{private} is there already: a key is not replaced, choose another name"
        ) from error
    except OSError as error:
        raise InvalidInputError(
            f"{private}: cannot be written: {error.strerror or error}; name another folder"
        ) from error
    return public


def sign_certificate(file: Path, key: Path) -> bytes:
    """The envelope over a certificate file, or over an envelope's statement with one signature more.

    Args:
        file: a certificate, or an envelope that others signed.
        key: an ed25519 private key, PEM.

    Raises:
        InvalidInputError: no certificate, or no such key.
    """
    signer = CryptoSigner(_private_key(key))
    envelope = _envelope(file)
    if envelope is None:
        envelope = Envelope(canonical_json(read_statement(file).plain()), PAYLOAD_TYPE, {})
    _statement(envelope, file)
    envelope.sign(signer)
    return json.dumps(envelope.to_dict(), indent=1, sort_keys=True).encode() + b"\n"


def verify_envelope(file: Path, key: Path) -> Statement:
    """The statement that the holder of a key signed; nothing in it is recomputed.

    Args:
        file: the envelope.
        key: the signer's ed25519 public key, PEM.

    Raises:
        InvalidInputError: no envelope of a certificate, or no such key.
        CorruptionError: the key did not sign this content.
    """
    public = SSlibKey.from_crypto(_public_key(key))
    envelope = _envelope(file)
    if envelope is None:
        raise InvalidInputError(f"{file}: not signed; `layoutledger certificate sign` makes an envelope")
    try:
        envelope.verify([public], 1)
    except VerificationError as error:
        raise CorruptionError(
            f"{file}: the key {public.keyid[:12]} did not sign this content; do not rely on it"
        ) from error
    return _statement(envelope, file)


def signed_statement(file: Path) -> Statement:
    """What an envelope holds; nobody has verified who signed it.

    Raises:
        InvalidInputError: no envelope of a certificate.
    """
    envelope = _envelope(file)
    if envelope is None:
        raise InvalidInputError(f"{file}: not signed; `layoutledger certificate sign` makes an envelope")
    return _statement(envelope, file)


def _envelope(file: Path) -> Any:
    """The file's envelope; None where it is none by its fields."""
    try:
        content: Any = json.loads(file.read_bytes())
    except OSError as error:
        raise InvalidInputError(
            f"{file}: cannot be read: {error.strerror or error}; name a certificate's file"
        ) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{file}: not JSON: {error}; name a certificate or an envelope") from error
    if not isinstance(content, dict) or "payload" not in content:
        return None
    try:
        return Envelope.from_dict(cast("dict[str, Any]", content))
    except (KeyError, TypeError, ValueError, AttributeError, FormatError) as error:
        raise InvalidInputError(f"{file}: not a DSSE envelope: {type(error).__name__} {error}") from error


def _statement(envelope: Any, file: Path) -> Statement:
    if envelope.payload_type != PAYLOAD_TYPE:
        raise InvalidInputError(
            f"{file}: an envelope of {envelope.payload_type!r}, not of {PAYLOAD_TYPE!r}; sign a certificate"
        )
    try:
        content = json.loads(envelope.payload)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{file}: the payload is not JSON: {error}; do not rely on it") from error
    statement = Statement.parse(content, where=f"{file}: payload")
    if canonical_json(statement.plain()) != envelope.payload:
        raise InvalidInputError(
            f"{file}: the payload is not the canonical statement that it says; sign it again"
        )
    return statement


def _private_key(path: Path) -> Ed25519PrivateKey:
    key = _load(path, _without_password)
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInputError(f"{path}: not an ed25519 private key; `certificate keygen` makes one")
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    key = _load(path, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInputError(f"{path}: not an ed25519 public key; it ends in .pub beside the private one")
    return key


def _without_password(data: bytes) -> object:
    return load_pem_private_key(data, None)


def _load(path: Path, load: Callable[[bytes], object]) -> object:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise InvalidInputError(
            f"{path}: cannot be read: {error.strerror or error}; name a key's file"
        ) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        # What the file holds is a secret: no part of it is shown.
        raise InvalidInputError(
            f"{path}: not a key in PEM form without a password; `certificate keygen` makes one"
        ) from error
