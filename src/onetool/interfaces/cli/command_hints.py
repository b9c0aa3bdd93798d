"""Other names of commands, and what to run instead of commands of other programs."""

from collections.abc import Iterable
from types import MappingProxyType

SYNONYMS = (
    frozenset({"add", "create"}),
    frozenset({"delete", "remove", "rm"}),
    frozenset({"list", "ls"}),
    frozenset({"show", "info", "describe"}),
    frozenset({"invoke", "call"}),
    frozenset({"upgrade", "update"}),
)
"""Words for the same thing. A group has one of them as a command, and accepts the others."""

ADD_SERVER = ("add an MCP server", "onetool servers add NAME COMMAND")
LIST_SERVERS = ("list MCP servers", "onetool servers list")
LIST_TOOLS = ("list tools", "onetool tools list")
CALL_TOOL = ("call a tool", "onetool call TOOL key=value")
NEW_PACK = ("create a pack of tools", "onetool scaffold pack NAME")
KEY = ("store the API key of a model provider", "onetool auth login PROVIDER")
SECRET = ("store any other secret", "onetool secrets set NAME")
BACKGROUND = ("run OneTool in the background", "onetool up")
SERVE = ("serve the web UI and the REST API", "onetool serve")
SETTINGS = ("see the paths of the settings files", "onetool config path")
CLIENT = ("connect an MCP client", "onetool mcp install CLIENT")
DISCONNECT = ("remove OneTool from an MCP client", "onetool mcp uninstall CLIENT")
ALLOW = ("let tools run without approval", "onetool allow PATTERN")
DENY = ("let tools never run", "onetool deny PATTERN")
ASK_CLIENTS = (
    "be asked when MCP clients call tools that are not read-only",
    "onetool config set approval.mcp ask",
)
SAVE = ("store code as a tool", "onetool tools save NAME CODE")

HINTS = MappingProxyType(
    {
        "add": (ADD_SERVER, NEW_PACK),
        "approval": (ASK_CLIENTS, ALLOW, DENY),
        "approve": (
            ASK_CLIENTS,
            ALLOW,
            ("approve quarantined tools of a server", "onetool servers approve NAME"),
        ),
        "block": (DENY, ("disable tools", "onetool tools disable NAME")),
        "client": (CLIENT,),
        "clients": (CLIENT,),
        "connect": (CLIENT, ADD_SERVER),
        "create": (NEW_PACK,),
        "daemon": (BACKGROUND,),
        "disable": (("disable tools", "onetool tools disable NAME"),),
        "disconnect": (DISCONNECT,),
        "edit": (SETTINGS,),
        "enable": (("enable tools", "onetool tools enable NAME"),),
        "exec": (CALL_TOOL, ("run code", "onetool run CODE")),
        "find": (("search for tools", "onetool search WORDS"),),
        "gui": (SERVE,),
        "info": (("describe a tool", "onetool tools info NAME"),),
        "install": (
            CLIENT,
            ADD_SERVER,
            ("install a server from the registry", "onetool servers install NAME"),
        ),
        "key": (KEY, SECRET),
        "keys": (KEY, SECRET),
        "list": (LIST_TOOLS, LIST_SERVERS),
        "login": (KEY, ("log in to an MCP server", "onetool servers login NAME")),
        "logs": (
            ("see the calls", "onetool activity"),
            ("see the output of a server", "onetool servers logs NAME"),
        ),
        "new": (NEW_PACK,),
        "open": (SERVE,),
        "pack": (("list packs", "onetool packs"), NEW_PACK),
        "remove": (("remove an MCP server", "onetool servers remove NAME"),),
        "restart": (("restart OneTool in the background", "onetool down && onetool up"),),
        "save": (SAVE,),
        "secret": (SECRET,),
        "server": (LIST_SERVERS, SERVE),
        "settings": (SETTINGS, ("show the settings", "onetool config show")),
        "start": (BACKGROUND, SERVE),
        "stop": (("stop OneTool in the background", "onetool down"),),
        "test": (("test MCP servers", "onetool servers test"), ("check everything", "onetool doctor")),
        "token": (("see where the token of the web UI is", "onetool serve"),),
        "ui": (SERVE,),
        "uninstall": (
            DISCONNECT,
            ("see how OneTool itself is removed", "onetool upgrade"),
        ),
        "version": (("see the version", "onetool --version"),),
        "web": (SERVE,),
        "errors": (("see the calls, also failed ones", "onetool activity"),),
        "activity list": (("list calls", "onetool activity"),),
        "config edit": (SETTINGS,),
        "mcp add": (ADD_SERVER,),
        "mcp get": (LIST_SERVERS,),
        "mcp list": (LIST_SERVERS,),
        "mcp login": (("log in to an MCP server", "onetool servers login NAME"),),
        "mcp remove": (
            ("remove an MCP server", "onetool servers remove NAME"),
            DISCONNECT,
        ),
        "mcp serve": (("serve an MCP client over stdio", "onetool mcp"), SERVE),
        "mcp start": (("serve an MCP client over stdio", "onetool mcp"), BACKGROUND),
        "mcp test": (("test MCP servers", "onetool servers test"),),
        "secrets get": (("see the names of secrets; their values are never shown", "onetool secrets list"),),
        "tools add": (NEW_PACK, ADD_SERVER),
        "tools create": (NEW_PACK,),
        "tools new": (NEW_PACK,),
        "tools run": (CALL_TOOL, ("run code", "onetool run CODE")),
        "tools search": (("search for tools", "onetool search WORDS"),),
        "tools test": (CALL_TOOL,),
    }
)
"""For commands that do not exist: what they probably should do, and the command that does it."""


def synonyms(name: str) -> list[str]:
    """Return a name and the other words for it.

    >>> synonyms("rm")
    ['rm', 'delete', 'remove']
    """
    return [name, *(word for words in SYNONYMS if name in words for word in sorted(words - {name}))]


def describe_unknown(group: str, name: str, commands: Iterable[str]) -> str:
    """Return what to run instead of a command that does not exist.

    Args:
        group: The group without `onetool`; empty for `onetool` itself.
        name: The word that is no command of it.
        commands: The commands of the group.
    """
    from onetool.domain.text.suggestions import did_you_mean

    command = f"{group} {name}".strip()
    found = next((known for word in synonyms(name) if (known := HINTS.get(f"{group} {word}".strip()))), ())
    if not group and "." in name:
        found = (("call a tool", f"onetool call {name}"),)
    only = list(commands)
    if group and not found and len(only) == 1:
        found = ((f"{group} a {only[0]}", f"onetool {group} {only[0]} {name}"),)
    hints = [f"To {purpose}: {instead}" for purpose, instead in found]
    suggestion = "\n  ".join(["", *hints]) if len(hints) > 1 else " ".join(["", *hints])
    return f"No such command {command!r}.{suggestion or did_you_mean(name, only)}"
