"""Credentials are masked wherever they stand; everything else stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import redact, redact_plain

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=4, max_size=12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://ann:hunter2@host:5000/x", "http://***@host:5000/x"),
        ("see https://token@host, now", "see https://***@host, now"),
        ("postgresql+psycopg2://a:p@ss@host/db", "postgresql+psycopg2://***@host/db"),
        ("GET /api?token=abc&run=1", "GET /api?token=***&run=1"),
        ("{'Authorization': 'Basic YW5uOmh1bnRlcjI='}", "{'Authorization': 'Basic ***'}"),
        ("authorization: bearer abc.def", "authorization: bearer ***"),
        ("http://host/a@b", "http://host/a@b"),
        ("mail ann@host about cell grpo|tp2", "mail ann@host about cell grpo|tp2"),
    ],
)
def test_addresses_and_headers_lose_their_credentials_alone(text, expected):
    assert redact(text, {}) == expected


def test_the_environment_s_secrets_are_masked_as_words():
    environ = {
        "MLFLOW_TRACKING_TOKEN": "s3cr3t-value",
        "MLFLOW_TRACKING_PASSWORD": "test",
        "AWS_SECRET_ACCESS_KEY": "ab/cd+ef",
        "TOKEN_FILE": "/etc/hosts",
        "MLFLOW_TRACKING_URI": "http://ann:h%40nter@host",
        "SHORT_TOKEN": "a",
    }
    text = "s3cr3t-value test latest ab/cd+ef /etc/hosts h@nter h%40nter a"
    assert redact(text, environ) == "*** *** latest *** /etc/hosts *** *** a"


def test_plain_values_are_walked_and_names_stay():
    value = {"token": [1, None, ("http://a:b@c", True)], "n": 2.5}
    assert redact_plain(value, {}) == {"token": [1, None, ["http://***@c", True]], "n": 2.5}


@given(user=WORDS, password=WORDS, host=WORDS, before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_password_of_an_address_is_left(user, password, host, before, after):
    secret = f"pw-{password}-pw"
    told = redact(f"{before} http://{user}:{secret}@{host}/ {after}", {})
    assert secret not in told
    assert host in told


@given(st.text())
def test_masking_again_changes_nothing(text):
    assert redact(redact(text, {}), {}) == redact(text, {})
