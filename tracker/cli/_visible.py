"""Text from evidence on a terminal: what would move the cursor, colour or reorder it is shown instead."""

# Control characters but the line's end; marks that reorder or end lines; halves of surrogate pairs.
_HIDDEN = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
]
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}

_IN_A_LINE = {
    code: _SHORT.get(chr(code), f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}") for code in _HIDDEN
}
_IN_LINES = {code: shown for code, shown in _IN_A_LINE.items() if chr(code) not in "\t\n"}


def visible(text: str) -> str:
    """The text, what a terminal would obey escaped; lines and tabs stay."""
    return text.translate(_IN_LINES)


def visible_line(text: str) -> str:
    """The text as one line: ends of lines and tabs are escaped too."""
    return text.translate(_IN_A_LINE)
