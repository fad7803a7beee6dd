"""The documentation shows the worked questions as the package ships them.

`python tests/tracker/test_questions_page.py` writes them into `docs/questions.md`.
"""

import re
from pathlib import Path

from tracker.warehouse import worked_questions

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
PART = re.compile(r"(?<=<!-- questions -->\n).*?(?=<!-- end -->)", re.DOTALL)


def questions() -> str:
    """The part of the page that is made from the statements."""
    parts = [
        f"## {number}. {question.text}\n\n```sql\n{question.sql.split(chr(10), 1)[1].strip()}\n```\n"
        for number, question in enumerate(worked_questions(), start=1)
    ]
    return "\n".join(["", *parts, ""])


def test_the_page_shows_the_questions_as_they_are():
    assert PART.findall(PAGE.read_text()) == [questions()], f"run {Path(__file__).name} to write them"


def test_the_page_can_be_asked(campaigns, tmp_path):
    """Each block of the page runs on a measured ledger; the first says who wins."""
    ledger = campaigns.known_ledger(tmp_path / "ledger")
    blocks = re.findall(r"```sql\n(.*?)```", PART.findall(PAGE.read_text())[0], re.DOTALL)
    answers = [ledger.warehouse.query(block).records() for block in blocks]
    assert len(answers) == 10
    assert {row["campaign"] for row in answers[0]} == {"known"} and len(answers[0]) == 3


if __name__ == "__main__":
    PAGE.write_text(PART.sub(lambda _: questions(), PAGE.read_text()))
