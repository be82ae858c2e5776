"""The one table of commands: bindings, footer, palette, help, keymap and the README's keys come from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from textual.binding import BindingType

from workbench.tui.commands.command import DIGITS, SHARED, Command, Where


def _of_digits(action: str) -> tuple[str, ...]:
    return tuple(f"{action}({digit})" for digit in range(1, 10))


_BY_NAME = (Where.EVERYWHERE, Where.ANYWHERE, Where.OUTPUT)
"""Where commands need no cursor, so that the palette can do them too."""
_BEFORE_FOCUS = (
    *(Where.SESSIONS, Where.PRESETS, Where.ENDPOINTS, Where.ENDPOINT_FORM, Where.PROBE, Where.POPUP),
    *(Where.LIST, Where.PICKER, Where.SELECTION, Where.WRITING, Where.CURL),
)
"""Where a text field or a list has the focus, which would take the keys for itself."""


def _at(where: Where, *commands: Command) -> Iterator[Command]:
    """The commands of one pane or screen."""
    for one in commands:
        needs_pane = one.needs_pane or where not in _BY_NAME
        priority = one.priority or (where in _BEFORE_FOCUS and not one.is_fixed)
        yield replace(one, where=where, needs_pane=needs_pane, priority=priority)


COMMANDS: tuple[Command, ...] = (
    Command(
        "run",
        ("ctrl+j", "f5"),
        "Run",
        "Send the prompt and stream the answer.",
        footer=0,
        priority=True,
        flow="running.flow:run",
    ),
    Command("stop", ("escape",), "Stop", "Close the top dialog, or stop the run.", footer=1),
    Command(
        "help",
        ("f1", "question_mark"),
        "Help",
        "The keys of this pane or screen.",
        where=Where.EVERYWHERE,
        footer=2,
        priority=True,
        flow="main.flow:show_help",
    ),
    Command(
        "palette",
        ("ctrl+p", "ctrl+backslash", "colon"),
        "Commands",
        "Search commands, parameters, presets and sessions.",
        footer=3,
        priority=True,
        flow="main.flow:show_palette",
    ),
    Command("focus_prompt", ("f2",), "Prompt", "Go to the prompt.", footer=4, priority=True),
    Command(
        "focus_parameters",
        ("f3",),
        "Params",
        "Go to the parameters (a drawer where narrow).",
        footer=5,
        priority=True,
    ),
    Command("focus_output", ("f4",), "Output", "Go to the output.", footer=6, priority=True),
    Command(
        "jump",
        ("ctrl+g",),
        "Jump",
        "Go to any pane or field by letter.",
        footer=9,
        priority=True,
        flow="main.flow:jump",
    ),
    Command(
        "run_again",
        ("ctrl+r",),
        "Regenerate",
        "Run again with a fresh seed; a pinned seed stays in the panel.",
        footer=7,
        priority=True,
        flow="running.flow:run_again",
    ),
    Command(
        "copy_or_stop",
        ("ctrl+c",),
        "Copy or stop",
        "Copy the selection, else stop the run.",
        where=Where.EVERYWHERE,
        priority=True,
        action="app.copy_or_stop",
    ),
    Command("copy_error", (), "Copy error", "Copy the full error message.", flow="main.flow:copy_error"),
    Command(
        "save",
        ("ctrl+s",),
        "Save",
        "Name the session and save it.",
        footer=7,
        priority=True,
        flow="sessions.flow:save",
    ),
    Command(
        "sessions",
        ("ctrl+o",),
        "Sessions",
        "Open another session.",
        footer=13,
        priority=True,
        flow="sessions.flow:sessions",
    ),
    Command(
        "new",
        ("ctrl+n",),
        "New",
        "Begin a new session with these settings; this one stays saved.",
        footer=11,
        priority=True,
        flow="sessions.flow:new",
    ),
    Command(
        "undo",
        ("ctrl+z", "u"),
        "Undo",
        "Undo the last change, whichever pane it was made in.",
        flow="main.flow:undo",
    ),
    Command("redo", ("ctrl+y", "U"), "Redo", "Redo what was undone last.", flow="main.flow:redo"),
    Command(
        "edit_prompt",
        ("f9",),
        "Editor",
        "Edit the prompt in $EDITOR.",
        footer=14,
        priority=True,
        flow="prompt.flow:edit_elsewhere",
    ),
    Command(
        "suspend_process", (), "Suspend", "Suspend to the shell (`fg` resumes).", action="app.suspend_process"
    ),
    Command(
        "quit",
        ("ctrl+q",),
        "Quit",
        "Quit (asks first during a run).",
        where=Where.EVERYWHERE,
        footer=10,
        priority=True,
        action="app.quit",
    ),
    Command(
        "choose_endpoint",
        ("ctrl+t",),
        "Endpoint",
        "Choose where requests are sent; add, edit and test endpoints.",
        footer=8,
        priority=True,
        flow="endpoints.flow:choose_endpoint",
    ),
    Command(
        "compare",
        ("f8",),
        "Compare",
        "Run presets side by side on this prompt with a shared seed.",
        footer=9,
        priority=True,
        flow="compare.flow:compare",
    ),
    Command(
        "score",
        (),
        "Score",
        "Score the prompt, the answer or a file: how likely the model finds each token.",
        flow="scoring.flow:score",
    ),
    Command(
        "score_elsewhere",
        (),
        "Score with another model",
        "Compare how likely the answer's tokens are to its own model and to another.",
        flow="scoring.flow:score_elsewhere",
    ),
    Command(
        "chat",
        ("f12",),
        "Chat",
        "Chat through a visible prompt template.",
        priority=True,
        flow="chat.flow:chat",
    ),
    Command(
        "variables",
        (),
        "Variables",
        "Set the values of {{name}} in prompts, typed or from a file.",
        flow="prompt.flow:variables",
    ),
    Command(
        "sweep", (), "Sweep", "Vary one or two parameters on this prompt, in a grid.", flow="grid.flow:sweep"
    ),
    Command(
        "prompt_set",
        (),
        "Prompt set",
        "Run every prompt of a file, or of the editor, with several presets, in a grid.",
        flow="grid.flow:prompt_set",
    ),
    Command(
        "choose_preset",
        ("ctrl+l",),
        "Preset",
        "Apply a preset; the list shows what each would change.",
        priority=True,
        flow="presets.flow:choose_preset",
    ),
    Command(
        "export",
        (),
        "Export",
        "Export the session as Markdown, JSON Lines, HTML or text, or a run as SVG.",
        flow="export.flow:export",
    ),
    Command(
        "save_preset",
        (),
        "Save preset",
        "Save the panel's parameters as a preset.",
        flow="presets.flow:save_panel",
    ),
    Command(
        "choose_model",
        (),
        "Model",
        "Choose the model from the endpoint's list, or type its name.",
        flow="endpoints.flow:choose_model",
    ),
    Command(
        "probe", (), "Probe", "Find out which parameters the endpoint supports.", flow="probe.flow:probe"
    ),
    Command(
        "choose_theme",
        (),
        "Theme",
        "Choose a theme; the one under the cursor is shown.",
        flow="main.flow:choose_theme",
    ),
    Command(
        "branch_ids",
        (),
        "Branch ids",
        "Send branches as token ids where they are known, or as text again.",
        flow="branches.flow:branch_ids",
    ),
    Command(
        "choose_kind",
        (),
        "Prompt kind",
        "Choose what the prompt is: text, several texts, token ids, or lists of token ids.",
        flow="prompt.flow:choose_kind",
    ),
    Command(
        "copy_as_curl",
        (),
        "Copy as curl",
        "Copy the last request as a curl command; the key is read from the environment.",
        flow="wire.flow:copy_as_curl",
    ),
    Command(
        "copy_as_python",
        (),
        "Copy as Python",
        "Copy the last request as a Python program; the key is read from the environment.",
        flow="wire.flow:copy_as_python",
    ),
    Command(
        "paste_curl",
        (),
        "Paste curl",
        "Import the prompt and parameters of a curl command.",
        flow="prompt.flow:paste_curl",
    ),
    Command(
        "open_config",
        (),
        "Configuration",
        "Edit config.toml in $EDITOR; changes apply at the next start.",
        flow="main.flow:open_config",
    ),
    Command("about", (), "About", "The version, and where the files are.", flow="main.flow:show_about"),
    *_at(
        Where.PARAMETERS,
        Command("field", ("up", "down"), "Field", "Previous, next field.", actions=("move(-1)", "move(1)")),
        Command(
            "step",
            ("plus", "minus"),
            "Step",
            "Raise or lower the field by its step.",
            footer=0,
            actions=("step(1)", "step(-1)"),
            also=(("equals_sign", "step(1)"), ("right", "step(1)"), ("left", "step(-1)")),
        ),
        Command("type", ("0",), "Type", "Type a value.", footer=1, shown="0–9, Enter", is_fixed=True),
        Command(
            "unset",
            ("x",),
            "Unset",
            "Unset the field, so that it is not sent.",
            footer=2,
            action="unset",
            also=(("delete", "unset"),),
        ),
        Command("edit_value", ("enter",), "Edit", "Edit the field's value.", action="edit"),
    ),
    *_at(
        Where.TOKENS,
        Command(
            "token",
            ("left", "right"),
            "Token",
            "Previous, next token.",
            footer=0,
            actions=("token(-1)", "token(1)"),
        ),
        Command("line", ("up", "down"), "Line", "Line above, below.", actions=("line(-1)", "line(1)")),
        Command(
            "surprise",
            ("left_square_bracket", "right_square_bracket"),
            "Surprise",
            "Previous, next surprising token.",
            footer=4,
            actions=("notable('surprising', -1)", "notable('surprising', 1)"),
        ),
        Command(
            "not_first",
            ("comma", "full_stop"),
            "Not top choice",
            "Previous, next token that was not the model's top choice.",
            actions=("notable('not_first', -1)", "notable('not_first', 1)"),
        ),
        Command(
            "low_coverage",
            ("less_than_sign", "greater_than_sign"),
            "Low coverage",
            "Previous, next token whose listed alternatives cover little probability.",
            actions=("notable('low_coverage', -1)", "notable('low_coverage', 1)"),
        ),
        Command(
            "found",
            ("n", "N"),
            "Match",
            "Next, previous match of the search.",
            actions=("found(1)", "found(-1)"),
        ),
        Command(
            "select",
            ("shift+left", "shift+right", "shift+up", "shift+down", "shift+home", "shift+end"),
            "Select",
            "Extend the selection by token, by line, or to the end of the answer.",
            shown="Shift+← → ↑ ↓ Home End",
            actions=(
                "select(-1)",
                "select(1)",
                "select_line(-1)",
                "select_line(1)",
                "select_end(-1)",
                "select_end(1)",
            ),
        ),
        Command(
            "ends",
            ("home", "end"),
            "First, last",
            "Go to the first token, or to the last one and follow the stream.",
            actions=("first_token", "follow"),
        ),
        Command(
            "page_tokens", ("pageup", "pagedown"), "Page", "A page up, down.", actions=("page(-1)", "page(1)")
        ),
    ),
    *_at(
        Where.OUTPUT,
        Command(
            "branch",
            DIGITS,
            "Branch",
            "Branch here with that alternative in place of the token.",
            footer=1,
            actions=_of_digits("branch"),
            needs_pane=True,
        ),
        Command(
            "inspect", ("i", "tab"), "Inspect", "Go to the inspector, to choose an alternative.", footer=3
        ),
        Command(
            "continue_answer",
            ("enter",),
            "Continue",
            "Append the answer to the prompt and continue (u undoes).",
            footer=2,
            flow="branches.flow:continue_answer",
        ),
        Command(
            "next_run",
            ("k", "j"),
            "Previous, next run",
            "Go to the previous or next run.",
            actions=("run(-1)", "run(1)"),
            needs_pane=True,
        ),
        Command(
            "cycle_colour", ("c",), "Colour", "Colour by probability, entropy, rank, or not at all.", footer=7
        ),
        Command("toggle_whitespace", ("w",), "Whitespace", "Show spaces, tabs and line ends."),
        Command(
            "toggle_boundaries", ("b",), "Boundaries", "Underline every other token, to see where each ends."
        ),
        Command(
            "surprise_threshold",
            (),
            "Surprise threshold",
            "Set the probability below which [ and ] stop at a token.",
            flow="main.flow:surprise_threshold",
        ),
        Command(
            "coverage_threshold",
            (),
            "Coverage threshold",
            "Set the top-k mass below which < and > stop.",
            flow="main.flow:coverage_threshold",
        ),
        Command("find", ("slash",), "Find", "Find a text in the output.", footer=6),
        Command("copy_answer", ("y",), "Copy", "Copy the answer's exact text.", footer=5),
        Command(
            "branch_tree",
            ("t",),
            "Branch tree",
            "Show all runs as a tree of branches, to open, name or prune.",
            flow="branches.flow:branch_tree",
        ),
        Command(
            "choices",
            ("l",),
            "Choices",
            "List the choices of the run with their figures.",
            flow="branches.flow:choices",
        ),
        Command(
            "wire",
            ("e",),
            "Raw traffic",
            "Show the last request as sent, and each raw event beside its tokens.",
            flow="wire.flow:wire",
        ),
        Command(
            "replay",
            ("p",),
            "Replay",
            "Replay the run offline at its recorded pace.",
            flow="replay.flow:replay",
        ),
        Command(
            "rerun",
            ("r",),
            "Re-run",
            "Send the same request again and compare the answers token by token.",
            flow="compare.flow:rerun",
        ),
        Command(
            "compare_runs",
            ("v",),
            "Compare saved runs",
            "Compare saved runs of this session or another side by side; nothing is sent.",
            flow="compare.flow:compare_runs",
        ),
        Command(
            "delete_run",
            ("x", "delete"),
            "Delete",
            "Delete the run from the session (u undoes).",
            flow="branches.flow:delete_run",
        ),
    ),
    *_at(
        Where.INSPECTOR,
        Command(
            "row",
            ("up", "down"),
            "Row",
            "Previous, next alternative.",
            footer=0,
            actions=("move(-1)", "move(1)"),
        ),
        Command("choose", ("enter",), "Branch", "Branch with the alternative of the row.", footer=1),
        Command("copy_row", ("y",), "Copy", "Copy the token of the row exactly.", footer=2, action="copy"),
        Command(
            "page_rows",
            ("pageup", "pagedown"),
            "Page",
            "A page of alternatives up, down.",
            actions=("page(-1)", "page(1)"),
        ),
        Command(
            "choose_number",
            DIGITS,
            "Branch by number",
            "Branch with that alternative.",
            actions=_of_digits("choose"),
        ),
    ),
    *_at(
        Where.COMPARE,
        Command(
            "column",
            ("tab", "shift+tab"),
            "Column",
            "Next, previous column.",
            footer=1,
            shown="Tab",
            actions=("column(1)", "column(-1)"),
            priority=True,
        ),
        Command(
            "branch_column",
            DIGITS,
            "Branch",
            "Branch with that alternative of the token shown, with this column's parameters.",
            footer=6,
            actions=_of_digits("branch"),
        ),
        Command(
            "stop_column",
            ("escape",),
            "Stop",
            "Stop this column, then all, then close.",
            footer=0,
            action="stop",
        ),
        Command(
            "stop_columns",
            ("ctrl+c",),
            "Stop all",
            "Copy the selection, else stop all columns.",
            footer=3,
            action="copy_or_stop_all",
            priority=True,
        ),
        Command(
            "adopt",
            ("enter", "a"),
            "Adopt",
            "Continue with this column's parameters, endpoint and model.",
            footer=2,
            shown="Enter/a",
        ),
        Command(
            "keep",
            ("k",),
            "Only this",
            "Show only this column; the other runs stay in the session.",
            footer=4,
        ),
        Command(
            "difference",
            ("d",),
            "Difference",
            "Go to the first token at which the answers diverge.",
            footer=5,
        ),
        Command(
            "save_compared",
            ("ctrl+s",),
            "Save",
            "Name the session and save it.",
            footer=8,
            flow="sessions.flow:save",
            priority=True,
        ),
        Command(
            "copy_column", ("y",), "Copy", "Copy this column's exact text.", footer=7, action="copy_answer"
        ),
    ),
    *_at(
        Where.REPLAY,
        Command("close_replay", ("escape",), "Back", "Close the replay.", footer=0, action="close"),
        Command("pause", ("space",), "Pause", "Pause or resume; at the end, play again.", footer=1),
        Command(
            "step_token", ("s", "enter"), "Step", "Pause and show one more token.", footer=2, action="step"
        ),
        Command(
            "speed",
            ("plus", "minus"),
            "Speed",
            "Play twice or half as fast.",
            footer=3,
            actions=("faster(2)", "faster(0.5)"),
            also=(("equals_sign", "faster(2)"),),
        ),
        Command("all", ("0",), "All", "Show the remaining tokens at once.", footer=4),
        Command("from_start", ("r",), "From start", "Play from the start.", footer=5, action="restart"),
        Command(
            "replay_colour",
            ("c",),
            "Colour",
            "Colour by the next measure, or not at all.",
            action="cycle_colour",
        ),
        Command(
            "replay_whitespace",
            ("w",),
            "Whitespace",
            "Show spaces and line ends.",
            action="toggle_whitespace",
        ),
        Command(
            "replay_copy", ("y",), "Copy", "Copy the selection, else the text so far.", action="copy_answer"
        ),
    ),
    *_at(
        Where.RERUN,
        Command("stop_rerun", ("escape",), "Stop", "Stop the run, then close.", footer=0, action="stop"),
        Command(
            "side",
            ("tab",),
            "Side",
            "Go to the other answer.",
            footer=1,
            shown="Tab",
            action="column(1)",
            priority=True,
            also=(("shift+tab", "column(-1)"),),
        ),
        Command(
            "first_difference",
            ("d", "enter"),
            "Difference",
            "Go to the first token at which the answers diverge.",
            footer=2,
            action="difference",
        ),
        Command(
            "branch_side",
            DIGITS,
            "Branch",
            "Branch with that alternative of the token shown, with the run's parameters.",
            actions=_of_digits("branch"),
        ),
        Command(
            "save_rerun",
            ("ctrl+s",),
            "Save",
            "Name the session and save it.",
            footer=4,
            flow="sessions.flow:save",
            priority=True,
        ),
        Command(
            "copy_side", ("y",), "Copy", "Copy this answer's exact text.", footer=3, action="copy_answer"
        ),
        Command(
            "stop_sides",
            ("ctrl+c",),
            "Stop all",
            "Copy the selection, else stop.",
            action="copy_or_stop_all",
            priority=True,
        ),
    ),
    *_at(
        Where.SESSIONS,
        Command("close_sessions", ("escape",), "Back", "Close the list.", footer=0, action="close"),
        Command("open_session", ("enter",), "Open", "Open this session.", footer=1, is_fixed=True),
        Command("rename_session", ("ctrl+r",), "Rename", "Change the title.", footer=2, action="rename"),
        Command("tag_session", ("ctrl+t",), "Tags", "Change the tags.", footer=6, action="tag"),
        Command(
            "compare_session",
            ("ctrl+k", "f8"),
            "Compare",
            "Compare its runs with those of the open session.",
            footer=5,
            action="compare",
        ),
        Command(
            "duplicate_session", ("ctrl+d",), "Duplicate", "Copy the session.", footer=7, action="duplicate"
        ),
        Command(
            "delete_session",
            ("ctrl+x",),
            "Delete",
            "Move it to the trash, which keeps it for 30 days.",
            footer=3,
            action="delete",
        ),
        Command(
            "undelete_session",
            ("ctrl+z",),
            "Undo",
            "Restore the session deleted last, also after a restart.",
            footer=4,
            action="undelete",
        ),
    ),
    *_at(
        Where.GRID,
        Command("stop_grid", ("escape",), "Stop", "Stop everything, then close.", footer=0, action="stop"),
        Command(
            "open_cell",
            ("enter",),
            "Open",
            "Show the answers of this cell.",
            footer=1,
            also=(("ctrl+home", "row(0)"), ("ctrl+end", "row(-1)")),
        ),
        Command(
            "compare_row",
            ("c",),
            "Row",
            "Show the answers of this row side by side, or of the column where it is the only one.",
            footer=2,
        ),
        Command("measure", ("m",), "Measure", "Show and colour by the next measure.", footer=3),
        Command(
            "resume", ("r",), "Resume", "Resend the requests that have no answer (asks first).", footer=4
        ),
        Command(
            "stop_cells",
            ("ctrl+c",),
            "Stop all",
            "Stop everything.",
            footer=5,
            action="stop_all",
            priority=True,
        ),
    ),
    *_at(
        Where.PRESETS,
        Command("rename_preset", ("ctrl+r",), "Rename", "Give your preset another name.", action="rename"),
        Command(
            "duplicate_preset",
            ("ctrl+d",),
            "Duplicate",
            "Copy it to a preset of your own.",
            action="duplicate",
        ),
        Command("delete_preset", ("ctrl+x",), "Delete", "Delete your preset (asks first).", action="delete"),
        Command("import_preset", ("ctrl+o",), "Import", "Import a preset from a file.", action="import"),
        Command("export_preset", ("ctrl+s",), "Export", "Export the preset to a file.", action="export"),
    ),
    *_at(
        Where.WIRE,
        Command(
            "close_wire",
            ("escape",),
            "Back",
            "Close, and go to this event's token.",
            footer=0,
            action="close",
        ),
        Command("copy_raw", ("y",), "Copy", "Copy the row's text in full.", footer=2),
        Command("copy_curl", ("c",), "curl", "Copy the request as a curl command.", footer=3),
        Command("copy_python", ("p",), "Python", "Copy the request as a Python program.", footer=4),
        Command("raw", ("tab",), "Scroll", "Go to the raw text, to scroll it.", footer=5, is_fixed=True),
    ),
    *_at(
        Where.EVENTS,
        Command(
            "move_event",
            ("up", "down"),
            "Event",
            "Previous, next event.",
            footer=1,
            actions=("move(-1)", "move(1)"),
        ),
        Command(
            "page_events",
            ("pageup", "pagedown"),
            "Page",
            "A page of events up, down.",
            actions=("page(-1)", "page(1)"),
        ),
        Command(
            "end_events",
            ("home", "end"),
            "First, last",
            "Go to the first, the last event.",
            actions=("go(0)", "go(-1)"),
        ),
    ),
    *_at(
        Where.ENDPOINTS,
        Command("close_endpoints", ("escape",), "Back", "Close the list.", footer=0, action="close"),
        Command(
            "use_endpoint", ("enter",), "Use", "Send requests to this endpoint.", footer=1, is_fixed=True
        ),
        Command("add_endpoint", ("ctrl+n",), "Add", "Add an endpoint.", footer=2, action="add"),
        Command("edit_endpoint", ("ctrl+e",), "Edit", "Edit the endpoint.", footer=3, action="edit"),
        Command("open_endpoint", ("ctrl+o",), "File", "Edit its file in $EDITOR.", footer=4, action="open"),
        Command(
            "test_endpoint",
            ("ctrl+t",),
            "Test",
            "List its models and ask for one token.",
            footer=5,
            action="test",
        ),
        Command(
            "delete_endpoint",
            ("ctrl+x",),
            "Delete",
            "Delete your profile (asks first).",
            footer=6,
            action="delete",
        ),
    ),
    *_at(
        Where.ENDPOINT_FORM,
        Command("drop_endpoint", ("escape",), "Back", "Close without saving.", footer=0, action="close"),
        Command("save_endpoint", ("ctrl+s", "ctrl+j"), "Save", "Save the profile.", footer=1, action="save"),
        Command(
            "next_field",
            ("tab", "shift+tab"),
            "Field",
            "Next, previous field.",
            footer=2,
            shown="Tab ↑ ↓",
            is_fixed=True,
        ),
        Command(
            "move_field",
            ("up", "down"),
            "Previous, next field",
            "Previous, next field.",
            actions=("app.focus_previous", "app.focus_next"),
        ),
    ),
    *_at(
        Where.TREE,
        Command("go_to_run", ("enter",), "Go to", "Go to the run in the output.", footer=1, is_fixed=True),
        Command(
            "kin",
            ("left", "right"),
            "Parent, branch",
            "Go to the parent run, or to the first branch of this one.",
            footer=2,
            actions=("parent", "child"),
            priority=True,
        ),
        Command(
            "name_run", ("n",), "Name", "Name the run; an empty name removes it.", footer=3, action="name"
        ),
        Command(
            "prune",
            ("d", "delete"),
            "Prune",
            "Remove the run and all its branches from the session (u undoes).",
            footer=4,
        ),
        Command(
            "undo_prune",
            ("u", "ctrl+z"),
            "Undo",
            "Undo the last change (U redoes it).",
            footer=5,
            action="undo",
        ),
        Command("redo_prune", ("U", "ctrl+y"), "Redo", "Redo what was undone last.", action="redo"),
    ),
    *_at(
        Where.CHOICES,
        Command(
            "go_to_choice", ("enter",), "Go to", "Go to the choice in the output.", footer=1, is_fixed=True
        ),
    ),
    *_at(
        Where.PROBE,
        Command(
            "send_probe",
            ("enter", "ctrl+j", "f5"),
            "Send",
            "Send the listed requests.",
            footer=0,
            shown="Enter",
            action="send",
        ),
        Command(
            "stop_probe",
            ("escape",),
            "Stop",
            "Stop and keep the results so far, then close.",
            footer=1,
            action="stop",
        ),
        Command(
            "stop_requests",
            ("ctrl+c",),
            "Stop sending",
            "Stop and keep the results so far.",
            action="stop_sending",
        ),
    ),
    *_at(
        Where.CHAT,
        Command("say", ("ctrl+j", "f5"), "Send", "Send the message.", footer=0, priority=True),
        Command("leave_chat", ("escape",), "Stop", "Stop the answer, else close the chat.", footer=1),
        Command(
            "prompt_preview",
            ("ctrl+e",),
            "Exact prompt",
            "Show exactly what would be sent.",
            footer=2,
            priority=True,
        ),
        Command("turns", ("f4",), "Turns", "Go to the turns.", footer=3, action="focus_view", priority=True),
        Command(
            "template",
            ("ctrl+t",),
            "Template",
            "Choose the prompt template: by name, or a file.",
            footer=4,
            priority=True,
            flow="chat.settings:template",
        ),
        Command(
            "system",
            ("f3",),
            "System",
            "Edit the system prompt.",
            footer=5,
            priority=True,
            flow="chat.settings:system",
        ),
        Command(
            "prefill",
            ("f6",),
            "Prefill",
            "Write the text the next answer begins with.",
            footer=7,
            priority=True,
            flow="chat.settings:prefill",
        ),
        Command(
            "when_full",
            ("f7",),
            "Context",
            "Choose what is left out when the context is full, and its size.",
            footer=8,
            priority=True,
            flow="chat.settings:when_full",
        ),
        Command(
            "chat_variables",
            ("f10",),
            "Variables",
            "Set the values of {{name}}, typed or from a file.",
            footer=9,
            priority=True,
            flow="chat.settings:variables",
        ),
        Command(
            "jump_to_turn",
            ("ctrl+g",),
            "Jump",
            "Go to a turn by its number or its text.",
            footer=10,
            priority=True,
        ),
        Command(
            "take_back",
            ("ctrl+b",),
            "Recall",
            "Put the last message back into the composer.",
            footer=11,
            priority=True,
        ),
        Command(
            "to_raw",
            ("f9",),
            "Raw",
            "Continue with the exact prompt in the prompt pane.",
            footer=12,
            priority=True,
        ),
        Command(
            "to_composer", ("f2",), "Composer", "Go to the composer.", action="focus_composer", priority=True
        ),
        Command(
            "chat_palette",
            ("f1", "ctrl+p"),
            "Commands",
            "Every command of the chat by name.",
            footer=6,
            action="palette",
            priority=True,
            also=(("ctrl+backslash", "palette"),),
        ),
    ),
    *_at(
        Where.TURNS,
        Command(
            "composer",
            ("f2",),
            "Composer",
            "Go to the composer.",
            footer=0,
            action="screen.focus_composer",
            priority=True,
        ),
        Command(
            "next_turn", ("j", "k"), "Turn", "Next, previous turn.", footer=1, actions=("turn(1)", "turn(-1)")
        ),
        Command(
            "other_branch",
            ("greater_than_sign", "less_than_sign"),
            "Branch",
            "Next, previous branch at the turn.",
            footer=2,
            shown="< >",
            actions=("screen.other_branch(1)", "screen.other_branch(-1)"),
        ),
        Command(
            "edit_turn",
            ("e",),
            "Edit",
            "Edit the turn; sending it makes a branch.",
            footer=3,
            action="screen.edit_turn",
        ),
        Command(
            "answer_again",
            ("r",),
            "Regenerate",
            "Generate another answer, as a branch.",
            footer=4,
            action="screen.answer_again",
        ),
        Command(
            "go_on",
            ("enter",),
            "Continue",
            "Continue a truncated answer, as a branch.",
            footer=5,
            action="screen.go_on",
        ),
        Command(
            "delete_turn",
            ("d",),
            "Delete",
            "Delete the turn and those after it.",
            footer=6,
            action="screen.delete_turn",
        ),
        Command("turns_undo", ("u",), "Undo", "Undo the last change.", footer=7, action="screen.undo"),
        Command("turns_redo", ("U",), "Redo", "Redo what was undone last.", footer=13, action="screen.redo"),
        Command(
            "fold", ("space",), "Fold", "Fold or unfold the turn.", footer=8, shown="Space", action="fold"
        ),
        Command("fold_all", ("f",), "Fold all", "Fold or unfold all turns.", footer=14, action="fold_all"),
        Command("copy_turn", ("y",), "Copy", "Copy the turn's exact text.", footer=9, action="copy_turn"),
        Command(
            "turns_inspect",
            ("i", "tab"),
            "Inspect",
            "Go to the inspector, to choose an alternative.",
            footer=10,
            action="inspect",
        ),
        Command(
            "branch_with",
            DIGITS,
            "Alternative",
            "Regenerate from this token on, with that alternative.",
            footer=12,
            actions=_of_digits("screen.branch_with"),
        ),
        Command(
            "turns_replay",
            ("p",),
            "Replay",
            "Replay the answer at its recorded pace.",
            footer=11,
            flow="chat.flow:replay_answer",
        ),
        Command(
            "turns_rerun",
            ("R",),
            "Re-run",
            "Send the exact prompt again and compare the answers.",
            footer=15,
            flow="chat.flow:rerun_answer",
        ),
        Command(
            "compare_answers",
            ("f8",),
            "Compare",
            "Answer with several presets; each answer is a branch.",
            footer=12,
            flow="chat.flow:compare_answers",
        ),
        Command(
            "turns_find",
            ("slash",),
            "Find",
            "Find a text in the answers; n and N go to the next and previous match.",
            footer=15,
            action="find",
        ),
        Command(
            "turns_colour",
            ("c",),
            "Colour",
            "Colour by the next measure, or not at all.",
            footer=16,
            action="cycle_colour",
        ),
        Command(
            "turns_whitespace",
            ("w",),
            "Whitespace",
            "Show spaces and line ends.",
            footer=17,
            action="toggle_whitespace",
        ),
    ),
    *_at(
        Where.LISTING,
        Command("close_listing", ("escape",), "Back", "Close the list.", footer=0, action="close"),
        Command(
            "scroll",
            ("space", "b"),
            "Scroll",
            "Scroll the text below.",
            footer=6,
            actions=("scroll_passage(1)", "scroll_passage(-1)"),
        ),
    ),
    *_at(
        Where.POPUP,
        Command("close_popup", ("escape",), "Close", "Close without choosing.", action="close"),
    ),
    *_at(
        Where.LIST,
        Command("item", ("down", "up"), "Item", "Next, previous item.", actions=("move(1)", "move(-1)")),
        Command(
            "page_items",
            ("pagedown", "pageup"),
            "Page",
            "Move ten items down, up.",
            actions=("move(10)", "move(-10)"),
        ),
    ),
    *_at(
        Where.PICKER,
        Command(
            "picker_item",
            ("ctrl+n", "ctrl+p"),
            "Next, previous item",
            "Next, previous item.",
            actions=("move(1)", "move(-1)"),
        ),
    ),
    *_at(
        Where.SELECTION,
        Command("choose_item", ("space",), "Toggle", "Select the item, or deselect it.", action="choose"),
        Command("take_items", ("enter",), "OK", "Use the selection.", action="take"),
        Command("vary_item", ("plus",), "Vary", "Add a variation of the item.", action="vary"),
        Command("switch_items", ("s",), "Switch", "Turn the switch on or off.", action="switch"),
    ),
    *_at(
        Where.QUESTION,
        Command("yes", ("y", "enter"), "Yes", "Confirm.", action="answer(True)"),
        Command("no", ("n",), "No", "Cancel.", action="answer(False)"),
    ),
    *_at(
        Where.WRITING,
        Command("take_text", ("ctrl+j", "f5"), "OK", "Use the text.", action="take"),
    ),
    *_at(
        Where.CURL,
        Command(
            "take_curl",
            ("ctrl+j", "ctrl+s"),
            "OK",
            "Use the prompt and parameters of the command.",
            action="take",
        ),
    ),
)
"""Every command, in the order in which people meet them."""

BY_ID = {command.id: command for command in COMMANDS}
"""Commands by their id."""


def commands_at(where: Where, commands: Iterable[Command] = COMMANDS) -> Iterator[Command]:
    """The commands of a pane or screen, with those that it shares with others."""
    wheres = (where, *SHARED.get(where, ()))
    return (command for command in commands if command.where in wheres)


def bindings_at(*wheres: Where) -> list[BindingType]:
    """The bindings of commands that belong to these alone."""
    return [binding for command in COMMANDS if command.where in wheres for binding in command.bindings]


def commands_markdown() -> str:
    """The key table of the README."""
    lines = ["| where | key | command | name | does |", "|---|---|---|---|---|"]
    for command in COMMANDS:
        keys = "palette" if not command.keys else command.key_label.replace("\\", "\\\\")
        lines.append(f"| {command.where} | {keys} | {command.title} | `{command.id}` | {command.help} |")
    return "\n".join(lines) + "\n"
