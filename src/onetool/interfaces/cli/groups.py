"""Other names of commands, answers to commands that do not exist, and paths that are given as options."""

from typing import Any

import click

from .command_hints import describe_unknown, synonyms

PATH_OPTIONS = ("--path", "--file", "--output", "-f", "-o")
"""Options that people guess for a path."""


class PathCommand(click.Command):
    """A command whose last argument is a path. It also accepts the path as an option, which help omits."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the path to the end."""
        words, paths = list[str](), list[str]()
        rest = iter(args)
        for word in rest:
            option, has_value, value = word.partition("=")
            if word == "--":
                words += [word, *rest]
            elif option in PATH_OPTIONS and (path := value if has_value else next(rest, "")):
                paths.append(path)
            else:
                words.append(word)
        return super().parse_args(ctx, [*words, *paths])


class CommandGroup(click.Group):
    """A group that accepts synonyms of its commands. Help and completion show only the commands."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command with a name, or with a synonym of it."""
        known = self.list_commands(ctx)
        found = next((word for word in synonyms(name) if word in known), None)
        return self.load_command(ctx, found) if found else None

    def load_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command with exactly this name."""
        return super().get_command(ctx, name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Say which command does what the user has probably meant, if there is no such command."""
        is_complete = bool(args) and not ctx.resilient_parsing  # shell completion passes partial words
        if is_complete and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            group = ctx.command_path.partition(" ")[2]
            ctx.fail(describe_unknown(group, args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


CommandGroup.group_class = CommandGroup  # the class of groups in groups
