"""A signature stands for one content and one key; nothing else passes."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from schemas import CorruptionError, InvalidInputError, digest_bytes
from tracker.certificate import read_statement, render_statement
from tracker.certificate.signing import generate_keys, sign_certificate, verify_envelope


@pytest.fixture
def certificate(statement, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(render_statement(statement))
    return path


@pytest.fixture
def keys(tmp_path):
    return tmp_path / "ann.pem", generate_keys(tmp_path / "ann.pem")


@pytest.fixture
def signed(certificate, keys, tmp_path):
    path = tmp_path / "certificate.dsse.json"
    path.write_bytes(sign_certificate(certificate, keys[0]))
    return path


def edited(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_what_was_signed_comes_back_and_its_payload_has_the_certificates_digest(signed, keys, statement):
    assert verify_envelope(signed, keys[1]) == statement
    payload = base64.b64decode(json.loads(signed.read_text())["payload"])
    assert digest_bytes(payload) == statement.digest


def test_signing_again_gives_the_same_bytes(certificate, keys):
    assert sign_certificate(certificate, keys[0]) == sign_certificate(certificate, keys[0])


def test_two_signers_sign_one_content(signed, keys, tmp_path, statement):
    ben = generate_keys(tmp_path / "ben.pem")
    signed.write_bytes(sign_certificate(signed, tmp_path / "ben.pem"))
    assert verify_envelope(signed, keys[1]) == verify_envelope(signed, ben) == statement


def test_another_key_is_not_the_signer(signed, tmp_path):
    with pytest.raises(CorruptionError, match="did not sign"):
        verify_envelope(signed, generate_keys(tmp_path / "eve.pem"))


def test_a_changed_payload_or_signature_is_found(signed, keys):
    def other_payload(content):
        text = base64.b64decode(content["payload"]).replace(b'"gdn_level":', b'"gdn_level":1', 1)
        content["payload"] = base64.b64encode(text).decode()

    original = signed.read_bytes()
    with pytest.raises(CorruptionError):
        verify_envelope(edited(signed, other_payload), keys[1])
    signed.write_bytes(original)
    with pytest.raises(CorruptionError):
        verify_envelope(edited(signed, lambda c: c["signatures"][0].update(sig="AAAA")), keys[1])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c.pop("signatures"), "not a DSSE envelope"),
        (lambda c: c.update(payload=7), "not a DSSE envelope"),
        (lambda c: c["signatures"].append(dict(c["signatures"][0])), "not a DSSE envelope"),
        (lambda c: c.pop("payload"), "not signed"),
    ],
)
def test_what_is_no_envelope_is_said(signed, keys, change, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        verify_envelope(edited(signed, change), keys[1])


def test_another_type_of_payload_is_not_signed_on(signed, keys):
    with pytest.raises(InvalidInputError, match="text/plain"):
        sign_certificate(edited(signed, lambda c: c.update(payloadType="text/plain")), keys[0])


def test_a_key_is_for_its_owner_and_never_replaced(keys):
    private, _ = keys
    assert private.stat().st_mode & 0o777 == 0o600
    before = private.read_bytes()
    with pytest.raises(InvalidInputError, match="already"):
        generate_keys(private)
    assert private.read_bytes() == before


def test_what_is_no_ed25519_key_is_refused_without_showing_it(certificate, signed, keys, tmp_path):
    other = tmp_path / "rsa.pem"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    other.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    noise = tmp_path / "noise.pem"
    noise.write_text("SECRET")
    for path in (other, noise, keys[1], tmp_path / "absent.pem"):
        with pytest.raises(InvalidInputError, match=path.name) as error:
            sign_certificate(certificate, path)
        assert "SECRET" not in str(error.value)
    with pytest.raises(InvalidInputError, match=r"ann\.pem"):
        verify_envelope(signed, keys[0])


def test_a_signed_certificate_is_not_taken_for_a_plain_one(signed):
    with pytest.raises(InvalidInputError, match=r"a signed certificate; .*certificate verify"):
        read_statement(signed)
