"""The one table of commands: what bindings, footer, palette, help and the README's key table go by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding


class Where(StrEnum):
    """The pane whose keys a command belongs to."""

    ANYWHERE = "anywhere"
    PROMPT = "prompt"
    PARAMETERS = "parameters"
    OUTPUT = "output"
    INSPECTOR = "inspector"
    COMPARE = "compare"
    REPLAY = "replay"
    RERUN = "re-run"
    SESSIONS = "sessions"
    GRID = "grid"
    PRESETS = "presets"
    CHAT = "chat"
    TREE = "branches"
    CHOICES = "choices"
    ENDPOINTS = "endpoints"
    WIRE = "wire"
    ENDPOINT_FORM = "endpoint form"
    TURNS = "turns"
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Command:
    """Something a person can do: by key, by mouse in the footer, or by name in the palette."""

    id: str
    """The name of its action; one of a pane's own keys, which the palette cannot press, begins with `-`."""
    keys: tuple[str, ...]
    """Textual's names of its keys, the one to show first."""
    title: str
    help: str
    """One line of description."""
    where: Where = Where.ANYWHERE
    footer: int | None = None
    """Its place in the footer, which drops the highest first; None leaves it out."""
    shown: str = ""
    """Its keys as a person reads them, where they are not simply the list."""
    flow: str = ""
    """The flow that does it, as `module:function`; empty where its pane does it by itself."""

    @property
    def has_a_key_each(self) -> bool:
        """Whether each of its keys does something else, such as to go back and on."""
        return self.is_own and bool(self.shown) and len(self.keys) > 1

    @property
    def is_own(self) -> bool:
        """Whether only its pane can do it, as it needs the cursor there."""
        return self.id.startswith("-")

    @property
    def action(self) -> str:
        """Its action as Textual names it; what works over popups too is the application's."""
        if self.flow:
            return f"app.flow('{self.id}')"
        return f"app.{self.id}" if self.id in _OF_THE_APPLICATION else self.id

    @property
    def key_label(self) -> str:
        """All its keys, as a person reads them."""
        return self.shown or ", ".join(map(key_name, self.keys))

    @property
    def first_key(self) -> str:
        """The key to show where there is room for one."""
        return key_name(self.keys[0]) if self.keys else ""


_OF_THE_APPLICATION = frozenset({"quit", "copy_or_stop", "suspend_process"})

_NAMES = {
    "question_mark": "?",
    "colon": ":",
    "ctrl+backslash": "Ctrl+\\",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "escape": "Esc",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "plus": "+",
    "minus": "-",
    "tab": "Tab",
    "enter": "Enter",
}


def key_name(key: str) -> str:
    """A key as a person reads it: `ctrl+j` is `Ctrl+J`."""
    if key in _NAMES:
        return _NAMES[key]
    if len(key) == 1:
        return key
    return "+".join(
        part.upper() if part[1:].isdigit() or len(part) == 1 else part.title() for part in key.split("+")
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        "run",
        ("ctrl+j", "f5"),
        "Run",
        "Send the prompt and stream the answer.",
        footer=0,
        flow="running.flow:run",
    ),
    Command("stop", ("escape",), "Stop", "Close what lies on top, else stop; never quits.", footer=1),
    Command(
        "help",
        ("f1", "question_mark"),
        "Help",
        "The keys of the focused pane.",
        footer=2,
        flow="main.flow:show_help",
    ),
    Command(
        "palette",
        ("ctrl+p", "ctrl+backslash", "colon"),
        "Commands",
        "Every command by name, with its key.",
        footer=3,
        flow="main.flow:show_palette",
    ),
    Command("focus_prompt", ("f2",), "Prompt", "Go to the prompt.", footer=4),
    Command("focus_parameters", ("f3",), "Params", "Go to the parameters (a drawer where narrow).", footer=5),
    Command("focus_output", ("f4",), "Output", "Go to the output.", footer=6),
    Command(
        "jump", ("ctrl+g",), "Jump", "Go to any pane or field by letter.", footer=9, flow="main.flow:jump"
    ),
    Command(
        "run_again",
        ("ctrl+r",),
        "Again",
        "Run again with a fresh seed; a pinned seed stays.",
        footer=7,
        flow="running.flow:run_again",
    ),
    Command(
        "copy_or_stop",
        ("ctrl+c",),
        "Copy or stop",
        "Copy what is selected, else stop the stream; never quits.",
    ),
    Command("copy_error", (), "Copy error", "Copy what went wrong, also what there is no room for."),
    Command(
        "save", ("ctrl+s",), "Save", "Name the session and save it.", footer=12, flow="sessions.flow:save"
    ),
    Command(
        "sessions", ("ctrl+o",), "Sessions", "Open another session.", footer=13, flow="sessions.flow:sessions"
    ),
    Command(
        "new",
        ("ctrl+n",),
        "New",
        "Begin a new session with these settings; this one stays saved.",
        footer=11,
        flow="sessions.flow:new",
    ),
    Command("undo", ("ctrl+z", "u"), "Undo", "Take back the last change, whichever pane it was made in."),
    Command("redo", ("ctrl+y", "U"), "Redo", "Make again what was taken back last."),
    Command("edit_prompt", ("f9",), "Editor", "Edit the prompt in $EDITOR.", footer=14),
    Command("suspend_process", (), "Suspend", "To the shell, whose `fg` comes back here."),
    Command("quit", ("ctrl+q",), "Quit", "Leave; asks only while something streams.", footer=10),
    Command(
        "choose_endpoint",
        ("ctrl+t",),
        "Endpoint",
        "Choose where requests are sent; set up and test.",
        footer=8,
        flow="endpoints.flow:choose_endpoint",
    ),
    Command(
        "compare",
        ("f8",),
        "Compare",
        "Presets side by side on this prompt and one seed.",
        footer=9,
        flow="compare.flow:compare",
    ),
    Command(
        "chat",
        ("f12",),
        "Chat",
        "Talk in turns, through a template that stays in the open.",
        flow="chat.flow:chat",
    ),
    Command(
        "variables",
        (),
        "Variables",
        "Values of {{name}} in prompts, typed or from a file.",
        flow="prompt.flow:variables",
    ),
    Command(
        "sweep",
        (),
        "Sweep",
        "Vary one or two parameters over this prompt, in a grid.",
        flow="grid.flow:sweep",
    ),
    Command(
        "prompt_set",
        (),
        "Prompt set",
        "Every prompt of a file, or the editor's, under chosen presets, in a grid.",
        flow="grid.flow:prompt_set",
    ),
    Command(
        "choose_preset",
        ("ctrl+l",),
        "Preset",
        "Apply a preset; each shows what it would change.",
        flow="presets.flow:choose_preset",
    ),
    Command(
        "export",
        (),
        "Export",
        "Write the session as Markdown, JSON Lines, HTML or text, a run as SVG.",
        flow="export.flow:export",
    ),
    Command(
        "save_preset",
        (),
        "Save preset",
        "Keep the panel's parameters as a preset.",
        flow="presets.flow:save_panel",
    ),
    Command(
        "paste_curl",
        (),
        "Paste curl",
        "Take prompt and parameters from a curl command.",
        flow="prompt.flow:paste_curl",
    ),
    Command(
        "choose_model",
        (),
        "Model",
        "Choose the model, from the endpoint's list or by name.",
        flow="endpoints.flow:choose_model",
    ),
    Command(
        "probe",
        (),
        "Probe",
        "Find out what the endpoint honours, ignores and refuses.",
        flow="probe.flow:probe",
    ),
    Command(
        "choose_theme",
        (),
        "Theme",
        "Choose a theme; each is shown while you look.",
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
        "Text, texts, token ids, or lists of token ids.",
        flow="prompt.flow:choose_kind",
    ),
    Command("-field", ("up", "down"), "Field", "Previous, next field.", Where.PARAMETERS, shown="↑ ↓"),
    Command(
        "-step",
        ("plus", "minus"),
        "Step",
        "Raise or lower the field by its step.",
        Where.PARAMETERS,
        footer=0,
        shown="+ -",
    ),
    Command(
        "-type", ("0",), "Type", "Type a value in its place.", Where.PARAMETERS, footer=1, shown="0–9, Enter"
    ),
    Command("-unset", ("x",), "Unset", "Unset the field: it is not sent.", Where.PARAMETERS, footer=2),
    Command(
        "-token", ("left", "right"), "Token", "Previous, next token.", Where.OUTPUT, footer=0, shown="← →"
    ),
    Command("-line", ("up", "down"), "Line", "Line above, below.", Where.OUTPUT, shown="↑ ↓"),
    Command(
        "-surprise",
        ("left_square_bracket", "right_square_bracket"),
        "Surprise",
        "Previous, next surprising token.",
        Where.OUTPUT,
        footer=4,
        shown="[ ]",
    ),
    Command(
        "-not_first",
        ("comma", "full_stop"),
        "Not first",
        "Previous, next token that was not the first choice.",
        Where.OUTPUT,
        shown=", .",
    ),
    Command(
        "-low_coverage",
        ("less_than_sign", "greater_than_sign"),
        "Coverage",
        "Previous, next token whose alternatives cover less than a threshold.",
        Where.OUTPUT,
        shown="< >",
    ),
    Command("-found", ("n", "N"), "Match", "Next, previous match of the search.", Where.OUTPUT, shown="n N"),
    Command(
        "-select",
        ("shift+left", "shift+right", "shift+up", "shift+down", "shift+home", "shift+end"),
        "Select",
        "Select from the cursor on: by token, by line, to the answer's end.",
        Where.OUTPUT,
        shown="Shift+← → ↑ ↓ Home End",
    ),
    Command(
        "-ends",
        ("home", "end"),
        "Ends",
        "To the first token; to the last one, and follow.",
        Where.OUTPUT,
        shown="Home End",
    ),
    Command(
        "-branch",
        tuple("123456789"),
        "Branch",
        "Run on from here with that alternative in the token's place.",
        Where.OUTPUT,
        footer=1,
        shown="1–9",
    ),
    Command(
        "inspect", ("i", "tab"), "Inspect", "Into the inspector, to choose a row.", Where.OUTPUT, footer=3
    ),
    Command(
        "continue_answer",
        ("enter",),
        "Continue",
        "The answer joins the prompt and runs on; u takes it back.",
        Where.OUTPUT,
        footer=2,
        flow="branches.flow:continue_answer",
    ),
    Command(
        "cycle_colour",
        ("c",),
        "Colour",
        "Colour by probability, entropy, rank, or not at all.",
        Where.OUTPUT,
        footer=7,
    ),
    Command("toggle_whitespace", ("w",), "Whitespace", "Show blanks, tabs and line ends.", Where.OUTPUT),
    Command(
        "toggle_boundaries",
        ("b",),
        "Boundaries",
        "Underline every other token, to see where each ends.",
        Where.OUTPUT,
    ),
    Command(
        "surprise_threshold",
        (),
        "Surprise at",
        "Set how unlikely the tokens are that [ and ] go to.",
        Where.OUTPUT,
        flow="main.flow:surprise_threshold",
    ),
    Command(
        "coverage_threshold",
        (),
        "Coverage at",
        "Set how little the alternatives cover of tokens that < and > go to.",
        Where.OUTPUT,
        flow="main.flow:coverage_threshold",
    ),
    Command("find", ("slash",), "Find", "Find a text in the output.", Where.OUTPUT, footer=6),
    Command("copy_answer", ("y",), "Copy", "Copy the answer's exact text.", Where.OUTPUT, footer=5),
    Command(
        "branch_tree",
        ("t",),
        "Branch tree",
        "All runs as a tree of branches, to go to, name or prune.",
        Where.OUTPUT,
        flow="branches.flow:branch_tree",
    ),
    Command(
        "choices",
        ("l",),
        "Choices",
        "The choices of the run as a list with figures.",
        Where.OUTPUT,
        flow="branches.flow:choices",
    ),
    Command(
        "wire",
        ("e",),
        "Wire",
        "The last request as sent, and each event raw beside the token it gave.",
        Where.OUTPUT,
        flow="wire.flow:wire",
    ),
    Command(
        "replay",
        ("p",),
        "Replay",
        "Play the run again, offline, at its recorded pace.",
        Where.OUTPUT,
        flow="replay.flow:replay",
    ),
    Command(
        "rerun",
        ("r",),
        "Re-run",
        "Send the run again as it was and compare it token by token.",
        Where.OUTPUT,
        flow="compare.flow:rerun",
    ),
    Command(
        "compare_runs",
        ("v",),
        "Versus",
        "Compare saved runs side by side, of this session or another; nothing is sent.",
        Where.OUTPUT,
        flow="compare.flow:compare_runs",
    ),
    Command(
        "delete_run", ("x", "delete"), "Delete", "Delete the run from the session; u undoes it.", Where.OUTPUT
    ),
    Command(
        "-row", ("up", "down"), "Row", "Previous, next alternative.", Where.INSPECTOR, footer=0, shown="↑ ↓"
    ),
    Command(
        "-choose", ("enter",), "Branch", "Run on with the alternative of the row.", Where.INSPECTOR, footer=1
    ),
    Command("-copy_row", ("y",), "Copy", "Copy the row's token exactly.", Where.INSPECTOR, footer=2),
    Command(
        "-column",
        ("tab", "shift+tab"),
        "Column",
        "Next, previous column.",
        Where.COMPARE,
        footer=1,
        shown="Tab",
    ),
    Command(
        "-branch_column",
        tuple("123456789"),
        "Branch",
        "Run on with that alternative of the token shown, under this column's parameters.",
        Where.COMPARE,
        footer=6,
        shown="1–9",
    ),
    Command("-stop", ("escape",), "Stop", "Stop this column, then all, then leave.", Where.COMPARE, footer=0),
    Command(
        "-stop_all", ("ctrl+c",), "Stop all", "Copy the selection, else stop all.", Where.COMPARE, footer=2
    ),
    Command(
        "-adopt",
        ("a", "enter"),
        "Adopt",
        "Back to the panel, with this column's parameters, endpoint and model.",
        Where.COMPARE,
        footer=3,
    ),
    Command(
        "-keep",
        ("k",),
        "Keep",
        "Keep only this column on the screen; the other runs stay in the session.",
        Where.COMPARE,
        footer=4,
    ),
    Command(
        "-difference",
        ("d",),
        "Difference",
        "To the first token in which the answers differ.",
        Where.COMPARE,
        footer=5,
    ),
    Command("-copy_column", ("y",), "Copy", "Copy this column's exact text.", Where.COMPARE, footer=7),
    Command(
        "-compare_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.COMPARE, footer=8
    ),
    Command("-close_replay", ("escape",), "Back", "Leave the replay.", Where.REPLAY, footer=0),
    Command("-pause", ("space",), "Pause", "Pause or go on; at the end, play again.", Where.REPLAY, footer=1),
    Command("-step_token", ("s", "enter"), "Step", "Pause and show one more token.", Where.REPLAY, footer=2),
    Command(
        "-speed", ("plus", "minus"), "Speed", "Twice or half as fast.", Where.REPLAY, footer=3, shown="+ -"
    ),
    Command("-all", ("0",), "All", "Show all that is left at once.", Where.REPLAY, footer=4),
    Command("-from_start", ("r",), "From start", "Play from the start.", Where.REPLAY, footer=5),
    Command(
        "-replay_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.REPLAY, footer=6
    ),
    Command("-stop_rerun", ("escape",), "Stop", "Stop the stream, then leave.", Where.RERUN, footer=0),
    Command("-side", ("tab",), "Side", "To the other answer.", Where.RERUN, footer=1, shown="Tab"),
    Command(
        "-first_difference",
        ("d", "enter"),
        "Difference",
        "To the first token in which the answers differ.",
        Where.RERUN,
        footer=2,
    ),
    Command(
        "-branch_side",
        tuple("123456789"),
        "Branch",
        "Run on with that alternative of the token shown, under the run's parameters.",
        Where.RERUN,
        shown="1–9",
    ),
    Command("-copy_side", ("y",), "Copy", "Copy this answer's exact text.", Where.RERUN, footer=3),
    Command(
        "-rerun_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.RERUN, footer=4
    ),
    Command("-close_sessions", ("escape",), "Back", "Go back without opening.", Where.SESSIONS, footer=0),
    Command("-open_session", ("enter",), "Open", "Go on with this session.", Where.SESSIONS, footer=1),
    Command("-rename_session", ("ctrl+r",), "Rename", "Another title.", Where.SESSIONS, footer=2),
    Command("-tag_session", ("ctrl+t",), "Tags", "Other tags.", Where.SESSIONS, footer=6),
    Command(
        "-compare_session",
        ("ctrl+k", "f8"),
        "Compare",
        "Compare its runs with those of the open session.",
        Where.SESSIONS,
        footer=5,
    ),
    Command("-duplicate_session", ("ctrl+d",), "Duplicate", "Copy the session.", Where.SESSIONS, footer=7),
    Command(
        "-delete_session",
        ("ctrl+x",),
        "Delete",
        "Move it to the trash, which keeps it for 30 days.",
        Where.SESSIONS,
        footer=3,
    ),
    Command(
        "-undelete_session",
        ("ctrl+z",),
        "Undo",
        "Bring back what was deleted last, also after a restart.",
        Where.SESSIONS,
        footer=4,
    ),
    Command("-sessions_help", ("f1",), "Help", "The keys of this screen.", Where.SESSIONS, footer=8),
    Command("-stop_grid", ("escape",), "Stop", "Stop everything, then leave.", Where.GRID, footer=0),
    Command("-open_cell", ("enter",), "Open", "The answers of this cell.", Where.GRID, footer=1),
    Command(
        "-compare_row",
        ("c",),
        "Row",
        "The answers of this row side by side; of the column, where it is the only one.",
        Where.GRID,
        footer=2,
    ),
    Command("-measure", ("m",), "Measure", "Show and colour by the next figure.", Where.GRID, footer=3),
    Command(
        "-resume", ("r",), "Resume", "Send what ended without an answer, after asking.", Where.GRID, footer=4
    ),
    Command("-stop_cells", ("ctrl+c",), "Stop all", "Stop everything.", Where.GRID, footer=5),
    Command("-grid_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.GRID, footer=6),
    Command("-rename_preset", ("ctrl+r",), "Rename", "Give your preset another name.", Where.PRESETS),
    Command("-duplicate_preset", ("ctrl+d",), "Duplicate", "Copy it as one of your own.", Where.PRESETS),
    Command("-delete_preset", ("ctrl+x",), "Delete", "Delete your preset, after asking.", Where.PRESETS),
    Command("-import_preset", ("ctrl+o",), "Import", "Take a preset from a file.", Where.PRESETS),
    Command("-export_preset", ("ctrl+s",), "Export", "Write the preset to a file.", Where.PRESETS),
    Command(
        "-close_wire", ("escape",), "Back", "Back, to the token of the event looked at.", Where.WIRE, footer=0
    ),
    Command("-event", ("up", "down"), "Event", "Previous, next event.", Where.WIRE, footer=1, shown="↑ ↓"),
    Command("-copy_raw", ("y",), "Copy", "Copy what the row is about, whole.", Where.WIRE, footer=2),
    Command("-copy_curl", ("c",), "curl", "Copy the request as a curl command.", Where.WIRE, footer=3),
    Command("-copy_python", ("p",), "Python", "Copy the request as a Python program.", Where.WIRE, footer=4),
    Command("-raw", ("tab",), "Scroll", "To the raw text, to scroll it.", Where.WIRE, footer=5),
    Command("-wire_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.WIRE, footer=6),
    Command("-close_endpoints", ("escape",), "Back", "Go back.", Where.ENDPOINTS, footer=0),
    Command("-use_endpoint", ("enter",), "Use", "Send there from now on.", Where.ENDPOINTS, footer=1),
    Command("-add_endpoint", ("ctrl+n",), "Add", "Set up another one.", Where.ENDPOINTS, footer=2),
    Command("-edit_endpoint", ("ctrl+e",), "Edit", "Change how it is set up.", Where.ENDPOINTS, footer=3),
    Command(
        "-open_endpoint",
        ("ctrl+o",),
        "File",
        "Edit its file in $EDITOR.",
        Where.ENDPOINTS,
        footer=4,
    ),
    Command(
        "-test_endpoint",
        ("ctrl+t",),
        "Test",
        "List its models and ask for one token.",
        Where.ENDPOINTS,
        footer=5,
    ),
    Command(
        "-delete_endpoint",
        ("ctrl+x",),
        "Delete",
        "Delete your own profile, after asking.",
        Where.ENDPOINTS,
        footer=6,
    ),
    Command("-endpoints_help", ("f1",), "Help", "The keys of this screen.", Where.ENDPOINTS, footer=7),
    Command("-drop_endpoint", ("escape",), "Back", "Leave it as it was.", Where.ENDPOINT_FORM, footer=0),
    Command(
        "-save_endpoint", ("ctrl+s", "ctrl+j"), "Save", "Write the profile.", Where.ENDPOINT_FORM, footer=1
    ),
    Command(
        "-next_field",
        ("tab", "shift+tab"),
        "Field",
        "Next, previous field.",
        Where.ENDPOINT_FORM,
        footer=2,
        shown="Tab ↑ ↓",
    ),
    Command("-close_tree", ("escape",), "Back", "Go back to where you were.", Where.TREE, footer=0),
    Command("-go_to_run", ("enter",), "Go to", "Go to the run in the output.", Where.TREE, footer=1),
    Command(
        "-kin",
        ("left", "right"),
        "Parent, branch",
        "To the run it leaves; to the first that leaves it.",
        Where.TREE,
        footer=2,
        shown="← →",
    ),
    Command("-name_run", ("n",), "Name", "Name the run; an empty name takes it away.", Where.TREE, footer=3),
    Command(
        "-prune",
        ("d", "delete"),
        "Prune",
        "Take the run and all its branches out of the session; u brings them back.",
        Where.TREE,
        footer=4,
    ),
    Command(
        "-undo_prune",
        ("u", "ctrl+z"),
        "Undo",
        "Take back the last change; U makes it again.",
        Where.TREE,
        footer=5,
    ),
    Command(
        "-scroll_tree",
        ("space", "b"),
        "Scroll",
        "Scroll the text below.",
        Where.TREE,
        footer=6,
        shown="Space b",
    ),
    Command("-tree_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.TREE, footer=7),
    Command("-close_choices", ("escape",), "Back", "Go back to where you were.", Where.CHOICES, footer=0),
    Command("-go_to_choice", ("enter",), "Go to", "Go to the choice in the output.", Where.CHOICES, footer=1),
    Command(
        "-scroll_choice",
        ("space", "b"),
        "Scroll",
        "Scroll the text below.",
        Where.CHOICES,
        footer=2,
        shown="Space b",
    ),
    Command(
        "-choices_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.CHOICES, footer=3
    ),
    Command(
        "-send_probe",
        ("enter", "ctrl+j", "f5"),
        "Send",
        "Send the requests that were told.",
        Where.PROBE,
        footer=0,
        shown="Enter",
    ),
    Command(
        "-stop_probe", ("escape",), "Stop", "Stop and keep what was found, else leave.", Where.PROBE, footer=1
    ),
    Command(
        "-probe_help", ("f1", "question_mark"), "Help", "The keys of this screen.", Where.PROBE, footer=2
    ),
    Command("-say", ("ctrl+j", "f5"), "Send", "Say what the composer holds.", Where.CHAT, footer=0),
    Command("-leave_chat", ("escape",), "Stop", "Stop the answer, else leave.", Where.CHAT, footer=1),
    Command(
        "-prompt_preview", ("ctrl+e",), "Exact prompt", "Show what would be sent, live.", Where.CHAT, footer=2
    ),
    Command(
        "-focus_view", ("f4",), "Turns", "Go to the turns, with keys of their own.", Where.CHAT, footer=3
    ),
    Command(
        "-template", ("ctrl+t",), "Template", "Choose the template: by name, or a file.", Where.CHAT, footer=4
    ),
    Command("-system", ("f3",), "System", "Write the system prompt.", Where.CHAT, footer=5),
    Command("-prefill", ("f6",), "Begin", "Write how the next answer begins.", Where.CHAT, footer=7),
    Command(
        "-when_full",
        ("f7",),
        "Context",
        "What is left out when it is full, and its size.",
        Where.CHAT,
        footer=8,
    ),
    Command(
        "-variables", ("f10",), "Variables", "Values of {{name}}, typed or from a file.", Where.CHAT, footer=9
    ),
    Command("-jump_to_turn", ("ctrl+g",), "Jump", "To a turn by its number or words.", Where.CHAT, footer=10),
    Command(
        "-take_back",
        ("ctrl+b",),
        "Take back",
        "Put the last turn back into the composer.",
        Where.CHAT,
        footer=11,
    ),
    Command(
        "-to_raw", ("f9",), "Raw", "Go on with the exact prompt in the prompt pane.", Where.CHAT, footer=12
    ),
    Command("-palette", ("f1", "ctrl+p"), "Commands", "All of these by name.", Where.CHAT, footer=6),
    Command("-focus_composer", ("f2",), "Composer", "Go to the composer.", Where.TURNS, footer=0),
    Command("-next_turn", ("j", "k"), "Turn", "Next, previous turn.", Where.TURNS, footer=1, shown="j k"),
    Command(
        "-other_branch",
        ("greater_than_sign", "less_than_sign"),
        "Branch",
        "Next, previous branch at the turn.",
        Where.TURNS,
        footer=2,
        shown="< >",
    ),
    Command("-edit_turn", ("e",), "Edit", "Edit the turn; sending makes a branch.", Where.TURNS, footer=3),
    Command("-answer_again", ("r",), "Again", "Another answer, as a branch.", Where.TURNS, footer=4),
    Command("-go_on", ("enter",), "Go on", "Let a cut answer go on, as a branch.", Where.TURNS, footer=5),
    Command("-delete_turn", ("d",), "Delete", "Delete the turn and those after it.", Where.TURNS, footer=6),
    Command("-undo", ("u",), "Undo", "Take the last change back.", Where.TURNS, footer=7),
    Command("-redo", ("U",), "Redo", "Make again what was taken back.", Where.TURNS, footer=13),
    Command("-fold", ("space",), "Fold", "Fold or unfold the turn.", Where.TURNS, footer=8, shown="Space"),
    Command("-fold_all", ("f",), "Fold all", "Fold or unfold all turns.", Where.TURNS, footer=14),
    Command("-copy_turn", ("y",), "Copy", "Copy the turn's exact text.", Where.TURNS, footer=9),
    Command(
        "-inspect", ("i", "tab"), "Inspect", "Into the inspector, to choose a row.", Where.TURNS, footer=10
    ),
    Command(
        "-branch_with",
        tuple("123456789"),
        "Token",
        "Answer anew from the token on, with that alternative.",
        Where.TURNS,
        footer=12,
        shown="1–9",
    ),
    Command(
        "-replay", ("p",), "Replay", "Play the answer again, at its recorded pace.", Where.TURNS, footer=11
    ),
    Command(
        "-rerun",
        ("R",),
        "Re-run",
        "Send the exact prompt again and compare the answers.",
        Where.TURNS,
        footer=15,
    ),
    Command(
        "-compare_answers",
        ("f8",),
        "Compare",
        "Several presets answer here; each answer is a branch.",
        Where.TURNS,
        footer=12,
    ),
    Command(
        "-find", ("slash",), "Find", "Find a text in the answers; n and N go on.", Where.TURNS, footer=15
    ),
    Command("-cycle_colour", ("c",), "Colour", "Colour by the next figure, or not.", Where.TURNS, footer=16),
    Command("-toggle_whitespace", ("w",), "Whitespace", "Show blanks and line ends.", Where.TURNS, footer=17),
)
"""Every command, in the order in which people meet them."""

BY_ID = {command.id: command for command in COMMANDS}
"""Commands by their id."""


def commands_at(where: Where) -> Iterator[Command]:
    """The commands of one pane."""
    return (command for command in COMMANDS if command.where is where)


# A printable key must reach a text field that has the focus, and so must those of its own undo; all others
# win over the field's own.
_OF_FIELDS = frozenset({"question_mark", "colon", "escape", "ctrl+z", "ctrl+y", "u", "U"})


def bindings_for(commands: Iterable[Command]) -> list[Binding]:
    """The bindings of commands; those that work anywhere come before the focused widget's own keys."""
    return [
        Binding(
            key,
            command.action,
            command.title,
            tooltip=command.help,
            show=False,
            id=command.id,
            priority=command.where is Where.ANYWHERE and key not in _OF_FIELDS,
        )
        for command in commands
        if not command.is_own
        for key in command.keys
    ]


def own_bindings(id: str, *actions: str) -> list[Binding]:
    """The bindings of one of a pane's own commands: an action a key, or one action for all its keys."""
    command = BY_ID[id]
    keys = command.keys if len(actions) > 1 else (",".join(command.keys),)
    return [
        Binding(key, action, command.title, show=False, id=f"{id}.{place}")
        for place, (key, action) in enumerate(zip(keys, actions, strict=True))
    ]


def commands_markdown() -> str:
    """The key table of the README."""
    lines = ["| where | key | command | does |", "|---|---|---|---|"]
    for command in COMMANDS:
        keys = "palette" if not command.keys else command.key_label.replace("\\", "\\\\")
        lines.append(f"| {command.where} | {keys} | {command.title} | {command.help} |")
    return "\n".join(lines) + "\n"
