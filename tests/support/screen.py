"""What a person sees on a terminal after a program has written to it."""

import re

TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|[^\x1b]|\x1b")


def render_screen(output: str) -> str:
    """Return the visible text. Lines may be overwritten and erased; colors are omitted.

    >>> render_screen("Loading ...\\r\\n\\x1b[1A\\x1b[2KDone.\\r\\n")
    'Done.\\n'
    """
    lines: list[list[str]] = [[]]
    row = column = 0
    for token in TOKEN.finditer(output):
        number, command = token.groups()
        if command == "A":
            row = max(0, row - int(number or 1))
        elif command == "K":
            lines[row] = [] if number == "2" else lines[row][:column]
        elif command is not None:
            continue
        elif token[0] == "\r":
            column = 0
        elif token[0] == "\n":
            row += 1
            lines += [[] for _ in range(row + 1 - len(lines))]
        else:
            line = lines[row]
            line += " " * (column + 1 - len(line))
            line[column] = token[0]
            column += 1
    return "\n".join("".join(line) for line in lines)
