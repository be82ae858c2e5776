"""The commands without a screen, each in its own module, which is imported when used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CliCommand(NamedTuple):
    """A command; its module has `configure(parser)` and `run(arguments) -> exit status`."""

    module: str
    help: str


COMMANDS: Mapping[str, CliCommand] = {
    "run": CliCommand("workbench.cli.run", "Complete a prompt; standard output is only the result."),
    "compare": CliCommand("workbench.cli.compare", "Compare presets on one or many prompts."),
    "sweep": CliCommand("workbench.cli.sweep", "Vary one or two parameters over lists or ranges."),
    "score": CliCommand(
        "workbench.cli.score", "Score texts: how likely a model finds each token; two models side by side."
    ),
    "check": CliCommand(
        "workbench.cli.check", "Check that an endpoint still answers as recorded; for continuous integration."
    ),
    "replay": CliCommand("workbench.cli.replay", "Show a recorded run again, or send it again and compare."),
    "branch": CliCommand("workbench.cli.branch", "Continue a recorded run from a token or from its end."),
    "inspect": CliCommand(
        "workbench.cli.inspect", "Print the tokens of a run with their probabilities and alternatives."
    ),
    "tree": CliCommand("workbench.cli.tree", "Show a session's runs as a tree; name and prune them."),
    "sessions": CliCommand("workbench.cli.sessions", "List and search the sessions."),
    "export": CliCommand(
        "workbench.cli.export", "Write a session as Markdown, JSON Lines, HTML, SVG, text, curl or Python."
    ),
    "import": CliCommand("workbench.cli.import_", "Import exported runs or a curl command into a session."),
    "endpoints": CliCommand("workbench.cli.endpoints", "List endpoints; set one up, test or delete it."),
    "probe": CliCommand("workbench.cli.probe", "Find out what an endpoint honours, ignores and refuses."),
    "schema": CliCommand(
        "workbench.cli.schema", "Print JSON schemas of the files you write, for editors to complete them."
    ),
    "serve": CliCommand(
        "workbench.cli.serve", "Serve the embedded model as POST /v1/completions on loopback."
    ),
    "model": CliCommand("workbench.cli.model", "Find or fetch the embedded model."),
}
"""Commands by name."""
SCREEN = CliCommand(
    "workbench.cli.screen_options", "A workbench for LLM text completions, on the embedded model by default."
)
"""The command used if none is named."""
