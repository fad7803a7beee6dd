"""Groups of verbs: what each does is told whole, and an unknown one is answered with what may be meant."""

from difflib import get_close_matches

import click

# Longer than any first sentence: click would cut it to what is left of the line.
WHOLE = 1_000


class Verbs(click.Group):
    """A group that lists each verb with its first sentence, over as many lines as it takes."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, in their order."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(WHOLE))
                    for name in self.list_commands(ctx)
                    if (command := self.get_command(ctx, name)) is not None
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb.

        Raises:
            UsageError: there is none of this name; says which are alike.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            meant = " or ".join(f"`{ctx.command_path} {verb}`" for verb in self._meant(ctx, name))
            raise click.UsageError(f"no verb '{name}'" + (f"; did you mean {meant}?" if meant else ""), ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, name: str) -> list[str]:
        verbs = self.list_commands(ctx)
        below = [
            f"{verb} {name}"
            for verb in verbs
            if isinstance(group := self.get_command(ctx, verb), click.Group)
            and name in group.list_commands(ctx)
        ]
        return [*below, *get_close_matches(name, verbs, n=2)]
