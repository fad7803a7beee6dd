"""Text from evidence inside Markdown that MLflow renders: it shows as written, whatever it holds."""

import re

# Everything that Markdown or HTML could take for markup. An underscore between letters, or a hyphen that
# begins no line, is only itself.
_MARKUP = re.compile(r"[\\`*{}\[\]()#+!|<>~&]|(?<![^\W_])_|_(?![^\W_])|^[-=]|-(?=-)")
_NUMBERED = re.compile(r"^(\d+)[.]")
# Characters that break lines, hide text or reorder it.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
# A bare address would become a link without any markup.
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto|www)([:.])")


def escape_markdown(text: str) -> str:
    """The text on one line, with nothing in it that Markdown, HTML or a link reader acts on."""
    line = _CONTROL.sub(" ", text).strip()
    escaped = _NUMBERED.sub(r"\1&#46;", _MARKUP.sub(lambda found: f"&#{ord(found.group())};", line))
    return _LINK.sub(lambda found: f"{found.group(1)}&#{ord(found.group(2))};", escaped)
