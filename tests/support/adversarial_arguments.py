"""Arguments that try to hide something in an approval question."""

import json
from typing import Any

LONG = "x" * 5_000
ADVERSARIAL_ARGUMENTS: dict[str, dict[str, Any]] = {
    "none": {},
    "ordinary": {"path": "/tmp/a", "new": "text"},
    "long value first": {"old": LONG, "path": "/etc/passwd", "new": "root"},
    "long value last": {"path": "/etc/passwd", "old": LONG},
    "long values around": {"a": LONG, "path": "/etc/passwd", "b": LONG},
    "danger in the middle of a value": {"text": LONG + "rm -rf /" + LONG},
    "line feed in a name": {'a": 1\n  "path': "x", "path": "/etc/passwd"},
    "carriage return in a name": {"a\rpath": 1},
    "line feed in a value": {"text": 'x"\n  "path": "/tmp/harmless'},
    "escape sequence in a name": {"\x1b[2K\x1b[1Apath": 1},
    "escape sequence in a value": {"text": "\x1b[8mhidden\x1b[0m"},
    "C1 control characters": {"text": "\x9b2J\x85next"},
    "backspaces": {"text": "safe" + "\b" * 4 + "evil"},
    "null character": {"text": "a\0b"},
    "bidirectional override in a name": {"\u202ehtap": 1},
    "bidirectional override in a value": {"text": "/tmp/\u202egpj.exe"},
    "zero-width characters": {"text": "pass\u200bwd", "te\u200bxt": 1},
    "tag characters": {"text": "hi\U000e0041\U000e0042"},
    "variation selectors": {"text": "a\ufe01\U000e0101b"},
    "blank letters": {"text": "a\u3164\u2800b"},
    "look-alike name": {"path": "/tmp/a", "p\u0430th": "/etc/passwd"},
    "look-alike word in a value": {"text": "p\u0430yp\u0430l.com"},
    "forged note of hidden characters": {
        "a (0 characters hidden)": 1,
        "b": "(0 characters hidden): x" + LONG,
    },
    "forged ellipsis": {"text": "start ... end"},
    "line separators": {"text": "a\u2028b\u2029c"},
    "lone surrogate": {"text": "a\ud800b"},
    "deep value": {"value": {"a": [{"b": {"c": [LONG, {"d": "/etc/passwd"}]}}]}},
    "long name": {"n" * 10_000: "/etc/passwd"},
    "similar long names": {"n" * 5_000 + "a" + "n" * 5_000: 1, "n" * 5_000 + "b" + "n" * 5_000: 2},
    "many arguments": {f"argument_{number}": number for number in range(10_000)},
    "other scripts": {"名前": "田中さん", "text": "größe Привет"},
}


def shown_name(name: str) -> str:
    """Return the start of a name as it must be shown: quoted, ASCII, without control characters."""
    return json.dumps(name)[:100]
