"""A resource, a template or a prompt under a name that tells the servers apart."""

from typing import Any, NamedTuple

from onetool.domain.search.matching import contains

from .server_item import KEYS, ServerItem
from .uris import namespaced_fields

TEXTS = ("name", "title", "description", "mimeType")


class CatalogItem(NamedTuple):
    """A resource, a template or a prompt of a server."""

    server: str
    item: ServerItem
    name: str
    """The namespaced URI or URI template, or the name of a prompt that all clients accept."""
    path: str = ""
    """The name of a prompt as code writes it: `server.prompt`."""

    def to_json(self) -> dict[str, Any]:
        """Return the definition with the namespaced name."""
        definition = dict(namespaced_fields(self.item.definition, self.server))
        return definition | {KEYS[self.item.kind]: self.name}

    def to_view(self) -> dict[str, Any]:
        """Return the definition for a person: with the server, and a prompt by its name in code.

        Fields of a wrong type are omitted.
        """
        view = self.to_json() | {"server": self.server}
        if self.item.kind == "prompt":
            view["name"] = self.path
            view["arguments"] = _arguments(view.get("arguments"))
        return {key: value for key, value in view.items() if key not in TEXTS or isinstance(value, str)}

    def matches(self, query: str) -> bool:
        """Whether the URI, or a text of the definition, contains a text."""
        view = self.to_view()
        return contains(query, self.name, *(view[key] for key in TEXTS if key in view))


def _arguments(arguments: Any) -> list[dict[str, Any]]:
    """Return the arguments of a prompt that have a name, with texts as descriptions."""
    named = [
        argument
        for argument in (arguments if isinstance(arguments, list) else ())
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return [
        {key: value for key, value in argument.items() if key not in TEXTS or isinstance(value, str)}
        | {"required": argument.get("required") is True}
        for argument in named
    ]
