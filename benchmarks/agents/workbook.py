"""A writer of small Excel workbooks."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/></Types>'
)
WORKBOOK = (
    f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
    '<sheets><sheet name="2026" sheetId="1" r:id="r1"/></sheets></workbook>'
)


def write_workbook(file: Path, rows: Sequence[Sequence[str | int]]) -> None:
    """Write a workbook with one sheet, named 2026, in the smallest form that programs accept."""
    lines = [
        f'<row r="{number}">{"".join(_cell("ABC"[n], number, value) for n, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, 1)
    ]
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": WORKBOOK,
        "xl/worksheets/sheet1.xml": sheet,
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def _relation(kind: str, target: str) -> str:
    relation = f'<Relationship Id="r1" Type="{OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{PACKAGE}/relationships">{relation}</Relationships>'


def _cell(column: str, row: int, value: str | int) -> str:
    if isinstance(value, int):
        return f'<c r="{column}{row}"><v>{value}</v></c>'
    return f'<c r="{column}{row}" t="inlineStr"><is><t>{value}</t></is></c>'
