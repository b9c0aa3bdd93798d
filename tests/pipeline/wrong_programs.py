"""Programs with typical mistakes of models, and what the error message must contain."""

from typing import Any, Literal, NamedTuple


def read(path: str, encoding: str = "utf-8") -> str:
    """Read a file."""
    return f"{path} in {encoding}"


def search(query: str, limit: int = 10, kind: Literal["text", "name"] = "text") -> list[dict[str, Any]]:
    """Search files."""
    return [{"path": f"{query}-{kind}", "size": n} for n in range(min(limit, 3))]


def info(path: str) -> dict[str, Any]:
    """Describe a file."""
    return {"path": path, "size": 3, "tags": ["a"]}


async def fetch(url: str, timeout_s: float = 10.0, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Fetch a page."""
    return {"status": 200, "content": url}


PACKS = {"docs": [read, search, info], "site": [fetch]}


READ = "Signature: docs.read(path: str, encoding: str = 'utf-8') -> str"
SEARCH = "Signature: docs.search(query: str, limit: int = 10, kind: str = 'text')"
FETCH = "Signature: site.fetch(url: str, "
INFO_KEYS = "\nr: dict with keys path, size, tags"
ROW_KEYS = "\nr: list of 3 dicts with keys path, size"


class WrongProgram(NamedTuple):
    """A program, what its message contains, and the tools that it calls before it fails."""

    code: str
    parts: tuple[str, ...]
    calls: tuple[str, ...] = ()


PROGRAMS: dict[str, WrongProgram] = {
    "misspelt pack": WrongProgram(
        "dcos.read(path='a')", ("line 1: 'dcos' is not defined. Did you mean docs?",)
    ),
    "unknown pack": WrongProgram("github.search(query='a')", ("line 1: 'github' is not defined.",)),
    "misspelt tool": WrongProgram(
        "x = 1\ndocs.serach(query='a')", ("line 2: there is no tool docs.serach. Did you mean docs.search?",)
    ),
    "tool of another pack": WrongProgram(
        "docs.fetch(url='https://a')", ("line 1: there is no tool docs.fetch.",)
    ),
    "unknown tool": WrongProgram(
        "docs.delete_everything()", ("line 1: there is no tool docs.delete_everything.",)
    ),
    "tool without its pack": WrongProgram("search(query='a')", ("line 1: 'search' is not defined.",)),
    "misspelt keyword": WrongProgram("docs.search(qeury='a')", ("`qeury`", "Did you mean query?", SEARCH)),
    "keyword of another tool": WrongProgram(
        "docs.read(filename='a')", ("`filename`", "required parameter `path`", READ)
    ),
    "unknown keyword": WrongProgram(
        "docs.read(path='a', errors='ignore')", ("Argument `errors` does not match any known parameter", READ)
    ),
    "missing keyword": WrongProgram(
        "docs.search(limit=3)", ("line 1: No argument provided for required parameter `query`", SEARCH)
    ),
    "no arguments": WrongProgram(
        "x = 1\ndocs.info()",
        ("line 2: No argument provided for required parameter `path`", "Signature: docs.info(path: str)"),
    ),
    "positional argument": WrongProgram(
        "docs.read('a')", ("docs.read takes keyword arguments only, such as docs.read(path=...)", READ)
    ),
    "positional and keyword": WrongProgram(
        "docs.search('a', limit=3)", ("such as docs.search(query=...)", "got 1 positional argument", SEARCH)
    ),
    "positional dict": WrongProgram(
        "site.fetch({'url': 'https://a'})", ("such as site.fetch(url=...)", FETCH)
    ),
    "same keyword twice": WrongProgram(
        "docs.read(path='a', path='b')", ("line 1: SyntaxError: keyword argument repeated: path",)
    ),
    "alias with a wrong keyword": WrongProgram(
        "grab(link='https://a')", ("`link`", "required parameter `url`", FETCH)
    ),
    "imported tool with a wrong keyword": WrongProgram(
        "from docs import read as r\nr(file='a')", ("line 2: ", "`file`", READ)
    ),
    "wrong type": WrongProgram(
        "docs.search(query=5)", ("line 1: ", 'query: 5 is not of type "string"', SEARCH), ("docs.search",)
    ),
    "number as text": WrongProgram(
        "docs.search(query='a', limit='3')", ('limit: "3" is not of type "integer"', SEARCH), ("docs.search",)
    ),
    "wrong choice": WrongProgram(
        "docs.search(query='a', kind='regex')",
        ('kind: "regex" is not one of "text" or "name"', SEARCH),
        ("docs.search",),
    ),
    "list for text": WrongProgram(
        "docs.read(path=['a', 'b'])", ('path: ["a","b"] is not of type "string"', READ), ("docs.read",)
    ),
    "wrong type in a variable": WrongProgram(
        "n = '3'\ndocs.search(query='a', limit=n)",
        ("line 2: ", 'limit: "3" is not of type "integer"', SEARCH),
        ("docs.search",),
    ),
    "undefined variable": WrongProgram(
        "paths = docs.search(query='a')\nlen(path)", ("line 2: 'path' is not defined. Did you mean paths?",)
    ),
    "misspelt variable": WrongProgram(
        "results = docs.search(query='a')\n[r['path'] for r in result]",
        ("line 2: 'result' is not defined. Did you mean results?",),
    ),
    "undefined in a function": WrongProgram(
        "def f(x):\n    return x + offset\nf(1)", ("line 2: 'offset' is not defined.", "return x + offset")
    ),
    "undefined in an f-string": WrongProgram(
        "name = 'a'\nf'{nmae}'", ("line 2: 'nmae' is not defined. Did you mean name?",)
    ),
    "loop variable of a comprehension": WrongProgram(
        "[r for r in docs.search(query='a')]\nr['path']", ("line 2: 'r' is not defined here, only inside",)
    ),
    "JSON literal": WrongProgram(
        "docs.search(query='a', limit=null)", ("line 1: 'null' is not defined. Did you mean None?",)
    ),
    "misspelt built-in": WrongProgram("pritn('a')", ("line 1: 'pritn' is not defined. Did you mean print?",)),
    "shell command": WrongProgram(
        "ls -la /tmp", ("line 1: 'ls' is not defined.", "line 1: 'la' is not defined.")
    ),
    "open file": WrongProgram(
        "open('notes.txt').read()", ("line 1: 'open' is not defined. Not available: ", "files, network")
    ),
    "forgotten import": WrongProgram(
        "x = docs.info(path='a')\njson.dumps(x)",
        ("line 2: 'json' is not defined. Add the line: import json",),
    ),
    "import that is not available": WrongProgram(
        "import requests\nrequests.get('https://a')",
        ("line 1: 'requests' cannot be imported here. Not available: ", "modules other than asyncio"),
    ),
    "from import that is not available": WrongProgram(
        "from bs4 import BeautifulSoup\nBeautifulSoup('a')",
        ("line 1: 'bs4' cannot be imported here. Not available: ",),
    ),
    "missing name of a module": WrongProgram(
        "from json import parse\nparse('1')",
        ("line 1: ImportError: cannot import name 'parse' from 'json'\n",),
    ),
    "unknown tool in an import": WrongProgram(
        "from docs import serach\nserach(query='a')",
        ("line 1: there is no tool docs.serach. Did you mean docs.search?",),
    ),
    "used before it is assigned": WrongProgram(
        "docs.info(path=name)\nname = 'a'", ("line 1: NameError: name 'name' is not defined",)
    ),
    "attribute of a dict": WrongProgram(
        "r = docs.info(path='a')\nr.size",
        ("line 2: AttributeError: 'dict' object has no attribute 'size'", INFO_KEYS),
        ("docs.info",),
    ),
    "missing key": WrongProgram(
        "r = docs.info(path='a')\nr['length']", ("line 2: KeyError: 'length'", INFO_KEYS), ("docs.info",)
    ),
    "key of a list": WrongProgram(
        "r = docs.search(query='a')\nr['path']",
        ("line 2: TypeError: list indices must be integers", ROW_KEYS),
        ("docs.search",),
    ),
    "index of a dict": WrongProgram(
        "r = docs.info(path='a')\nr[0]", ("line 2: KeyError", INFO_KEYS), ("docs.info",)
    ),
    "missing method": WrongProgram(
        "r = docs.search(query='a')\nr.items()",
        ("line 2: AttributeError: 'list' object has no attribute 'items'", ROW_KEYS),
        ("docs.search",),
    ),
    "misspelt method": WrongProgram(
        "'a b'.splti()", ("line 1: AttributeError: 'str' object has no attribute 'splti'",)
    ),
    "method of another language": WrongProgram(
        "x = [1]\nx.push(2)",
        ("line 2: AttributeError: 'list' object has no attribute 'push'", "x: list of 1 int"),
    ),
    "method that is not called": WrongProgram(
        "r = docs.read(path='a')\nr.upper.strip()",
        ("line 2: AttributeError", "r: str of 10 characters"),
        ("docs.read",),
    ),
    "text and number": WrongProgram(
        "r = docs.info(path='a')\n'size: ' + r['size']",
        ("line 2: TypeError: can only concatenate str", INFO_KEYS),
        ("docs.info",),
    ),
    "missing await": WrongProgram(
        "async def f():\n    return 1\nf()",
        ("line 3: f() is not awaited, so it does nothing. Write: await f(...)",),
    ),
    "missing await in a sum": WrongProgram(
        "async def f():\n    return 1\nf() + 1", ("line 3: TypeError: ", "Write await before the call")
    ),
    "missing await of gather": WrongProgram(
        "import asyncio\nasyncio.gather(docs.info(path='a'))", ("line 2: asyncio.gather() is not awaited",)
    ),
    "tool in the key of a sort": WrongProgram(
        "sorted(['a'], key=lambda path: docs.read(path=path))",
        ("line 1: docs.read cannot be called in a function that another function calls", "Collect the"),
    ),
    "next of a generator": WrongProgram(
        "next(x for x in [1, 2])", ("line 1: TypeError: ", "Write next(iter(...))")
    ),
    "key of a JSON text": WrongProgram(
        """r = '{"id": 1}'\nr['id']""",
        ("line 2: TypeError", "r: str of 9 characters; it is JSON: use json.loads"),
    ),
    "tool that is not called": WrongProgram(
        "docs.read", ("The result is the tool itself. Call it: docs.read(path: str, ",)
    ),
    "pack as a variable": WrongProgram(
        "docs = docs.search(query='a')\ndocs.read(path='b')",
        ("line 2: AttributeError", "'docs' is the name of a pack. Choose another name"),
        ("docs.search",),
    ),
    "early return": WrongProgram(
        "if True:\n    return 1\n2", ("line 2: return is allowed only as the last statement",)
    ),
    "forgotten return": WrongProgram(
        "def size(path):\n    docs.info(path=path)['size']\nsize('a') + 1",
        ("line 3: TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'",),
        ("docs.info",),
    ),
    "wrong number of arguments": WrongProgram(
        "def f(a, b):\n    return a\nf(1)",
        ("line 3: TypeError: f() missing 1 required positional argument: 'b'\n    f(1)",),
    ),
    "missing bracket": WrongProgram("x = docs.search(query='a'\nlen(x)", ("line 1: '(' was never closed",)),
    "missing colon": WrongProgram("for r in docs.search(query='a')\n    print(r)", ("line 1: expected ':'",)),
    "wrong indentation": WrongProgram("x = 1\n  y = 2", ("line 2: unexpected indent",)),
    "class with a base": WrongProgram(
        "class A(dict):\n    pass\nA()", ("line 1: NotImplementedError", "Not available: class inheritance")
    ),
    "generator": WrongProgram(
        "def f():\n    yield 1\nlist(f())",
        ("line 2: NotImplementedError", "Not available: class inheritance, yield"),
    ),
}
