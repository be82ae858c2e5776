"""The table of all commands, from which bindings, last rows, palette, help, keymap and README are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from textual.binding import BindingType

from workbench.tui.commands.command import CHARACTERS, DIGITS, SHARED, Command, Where

_TABLE = """
# anywhere
run | ctrl+j f5 | Run | run.flow:run | 0
    Send the prompt and stream the answer.
stop | escape | Stop | | 1; yields
    Close the top dialog, or stop the run.

# every screen
help | f1 ? | Help | main.help:show_help | 2
    The keys of this pane or screen.

# anywhere
palette | ctrl+p ctrl+backslash : | Commands | main.flow:show_palette | 3
    Search commands, parameters, presets and sessions.
focus_prompt | f2 | Prompt | | 4
    Go to the prompt.
focus_parameters | f3 | Params | | 5
    Go to the parameters (a drawer where narrow).
focus_output | f4 | Output | | 6
    Go to the output.
jump | ctrl+g | Jump | main.flow:jump | 9
    Go to any pane or field by letter.
run_again | ctrl+r | Regenerate | run.flow:run_again | 7
    Run again with a fresh seed; a pinned seed stays in the panel.

# every screen
copy_or_stop | ctrl+c | Copy or stop | app.copy_or_stop
    Copy the selection, else stop the run.

# anywhere
copy_error | | Copy error | main.flow:copy_error
    Copy the full error message.
save | ctrl+s | Save | sessions.flow:save | 7
    Name the session and save it.
sessions | ctrl+o | Sessions | sessions.flow:sessions | 13
    Open another session.
new | ctrl+n | New | sessions.flow:new | 11
    Begin a new session with these settings; this one stays saved.
undo | ctrl+z u | Undo | main.flow:undo | yields
    Undo the last change, whichever pane it was made in.
redo | ctrl+y U | Redo | main.flow:redo | yields
    Redo what was undone last.
edit_prompt | f9 | Editor | prompt.flow:edit_elsewhere | 14
    Edit the prompt in $EDITOR.
suspend_process | | Suspend | app.suspend_process
    Suspend to the shell (`fg` resumes).

# every screen
quit | ctrl+q | Quit | app.quit | 10
    Quit (asks first during a run).

# anywhere
choose_endpoint | ctrl+t | Endpoint | endpoints.flow:choose_endpoint | 8
    Choose where requests are sent; add, edit and test endpoints.
compare | f8 | Compare | compare.flow:compare | 9
    Run presets side by side on this prompt with a shared seed.
score | | Score | scoring.flow:score
    Score the prompt, the answer or a file: how likely the model finds each token.
score_by_tokens | | Score by one-token requests | scoring.flow:score_by_tokens
    Score a text token by token, where the endpoint returns no logprobs of the prompt.
score_elsewhere | | Score with another model | scoring.flow:score_elsewhere
    Colour the answer by the difference in surprisal between its model and another.
chat | f12 | Chat | chat.flow:chat
    Chat through a visible prompt template.
replay | f10 | Replay | replay.flow:replay
    Replay the run under the cursor, else the newest one, offline at its recorded pace.
variables | | Variables | prompt.flow:variables
    Set the values of {{name}} in prompts, typed or from a file.
sweep | | Sweep | grid.flow:sweep
    Vary one or two parameters on this prompt, in a grid.
prompt_set | | Prompt set | grid.flow:prompt_set
    Run every prompt of a file, or of the editor, with several presets, in a grid.
choose_preset | ctrl+l | Preset | presets.flow:choose_preset
    Apply a preset; the list shows what each would change.
export | | Export | export.flow:export
    Export the session as Markdown, JSON Lines, HTML or text, or a run as SVG.
save_preset | | Save preset | presets.flow:save_panel
    Save the panel's parameters as a preset.
choose_model | | Model | endpoints.flow:choose_model
    Choose the model from the endpoint's list, or type its name.
probe | | Probe | probe.flow:probe
    Find out which parameters the endpoint supports.
choose_theme | | Theme | main.theme_picker:choose_theme
    Choose a theme; the one under the cursor is shown.
branch_ids | | Branch ids | branches.flow:branch_ids
    Send branches as token ids where they are known, or as text again.
choose_kind | | Prompt kind | prompt.flow:choose_kind
    Choose what the prompt is: text, several texts, token ids, or lists of token ids.
copy_as_curl | | Copy as curl | wire.flow:copy_as_curl
    Copy the last request as a curl command; the key is read from the environment.
copy_as_python | | Copy as Python | wire.flow:copy_as_python
    Copy the last request as a Python program; the key is read from the environment.
paste_curl | | Paste curl | prompt.flow:paste_curl
    Import the prompt and parameters of a curl command.
open_config | | Configuration | main.flow:open_config
    Edit config.toml in $EDITOR; changes apply at the next start.
about | | About | main.about:show_about
    The version, and where the files are.

# parameters
field | up down | Field | move(-1) move(1)
    Previous, next field.
step | + - | Step | step(1) step(-1) | 0; also equals_sign=step(1) right=step(1) left=step(-1)
    Raise or lower the field by its step.
type | 0 | Type | | 1; fixed; shown 0–9, Enter
    Type a value.
unset | x | Unset | unset | 2; also delete=unset
    Unset the field, so that it is not sent.
edit_value | enter | Edit | edit
    Edit the field's value.

# tokens
token | left right | Token | token(-1) token(1) | 0
    Previous, next token.
line | up down | Line | line(-1) line(1)
    Line above, below.
surprise | [ ] | Surprise | notable('surprising',-1) notable('surprising',1) | 4
    Previous, next surprising token.
not_first | , . | Not top choice | notable('not_first',-1) notable('not_first',1)
    Previous, next token that was not the model's top choice.
low_coverage | < > | Low coverage | notable('low_coverage',-1) notable('low_coverage',1)
    Previous, next token whose listed alternatives cover little probability.
elsewhere | { } | Elsewhere | elsewhere(-1) elsewhere(1) | 8
    Previous, next token where the other model's top choice is another token.
found | n N | Match | found(1) found(-1)
    Next, previous match of the search.
select | shift+left shift+right shift+up shift+down shift+home shift+end | Select | \
    select('token',-1) select('token',1) select('line',-1) select('line',1) \
    select('end',-1) select('end',1) | shown Shift+← → ↑ ↓ Home End
    Extend the selection by token, by line, or to the end of the answer.
ends | home end | First, last | first_token follow
    Go to the first token, or to the last one and follow the stream.
page_tokens | pageup pagedown | Page | page(-1) page(1)
    A page up, down.

# output
branch | 1-9 | Branch | branch(N) | 1; pane
    Branch here with that alternative in place of the token.
inspect | i tab | Inspect | | 3
    Go to the inspector, to choose an alternative.
continue_answer | enter | Continue | branches.flow:continue_answer | 2
    Append the answer to the prompt and continue (u undoes).
next_run | k j | Previous, next run | run(-1) run(1) | pane
    Go to the previous or next run.
cycle_colour | c | Colour | | 7
    Colour by probability, entropy, rank, difference or nothing.
toggle_whitespace | w | Whitespace
    Show spaces, tabs and line ends.
toggle_boundaries | b | Boundaries
    Underline every other token, to see where each ends.
surprise_threshold | | Surprise threshold | main.thresholds:surprise_threshold
    Set the probability below which [ and ] stop at a token.
coverage_threshold | | Coverage threshold | main.thresholds:coverage_threshold
    Set the top-k mass below which < and > stop.
find | / | Find | | 6
    Find a text in the output.
copy_answer | y | Copy | | 5
    Copy the answer's exact text.
branch_tree | t | Branch tree | branches.flow:branch_tree
    Show all runs as a tree of branches, to open, name or prune.
choices | l | Choices | branches.flow:choices
    List the choices of the run with their figures.
wire | e | Raw traffic | wire.flow:wire
    Show the last request as sent, and each raw event beside its tokens.
run_list | L | Runs | run.run_list:run_list
    List all runs; find one by its text, preset, endpoint or model.
replay_run | p | Replay run | app.flow('replay') | pane
    Replay the run under the cursor.
rerun | r | Re-run | compare.flow:rerun
    Send the same request again and compare the answers token by token.
compare_runs | v | Compare saved runs | compare.flow:compare_runs
    Compare saved runs of this session or another side by side; nothing is sent.
delete_run | x delete | Delete | run.run_list:delete_run
    Delete the run from the session (u undoes).

# comparison or sweep
open_group | enter | Open | | 0; fixed
    Open the comparison as columns, the sweep or prompt set as a grid; nothing is sent.
fold_group | space | Fold | fold | 1
    Fold or unfold the runs of the comparison or sweep.

# inspector
row | up down | Row | move(-1) move(1) | 0
    Previous, next alternative.
choose | enter | Branch | | 1
    Branch with the alternative of the row.
copy_row | y | Copy | copy | 2
    Copy the token of the row exactly.
page_rows | pageup pagedown | Page | page(-1) page(1)
    A page of alternatives up, down.
choose_number | 1-9 | Branch by number | choose(N)
    Branch with that alternative.

# compare
column | tab shift+tab | Column | column(1) column(-1) | 1; first; shown Tab
    Next, previous column.
branch_column | 1-9 | Branch | branch(N) | 6
    Branch with that alternative of the token shown, with this column's parameters.
stop_column | escape | Stop | stop | 0; resting Close
    Stop this column, then all, then close.
stop_columns | ctrl+c | Stop all | copy_or_stop_all | 3; first; resting
    Copy the selection, else stop all columns.
adopt | enter a | Adopt | | 2; shown Enter/a
    Continue with this column's parameters, endpoint and model.
keep | k | Only this | | 4
    Show only this column; the other runs stay in the session.
difference | d | Difference | | 5
    Go to the first token at which the answers diverge.
save_compared | ctrl+s | Save | sessions.flow:save | 8; first
    Name the session and save it.
copy_column | y | Copy | copy_answer | 7
    Copy this column's exact text.

# replay
close_replay | escape | Back | close | 0
    Close the replay.
pause | space | Pause | | 1
    Pause or resume; at the end, play again.
step_token | s enter | Step | step | 2
    Pause and show one more token.
speed | + - | Speed | faster(2) faster(0.5) | 3; also equals_sign=faster(2)
    Play twice or half as fast.
all | 0 | All | | 4
    Show the remaining tokens at once.
from_start | r | From start | restart | 5
    Play from the start.
replay_colour | c | Colour | cycle_colour
    Colour by the next measure, or not at all.
replay_whitespace | w | Whitespace | toggle_whitespace
    Show spaces and line ends.
replay_copy | y | Copy | copy_answer
    Copy the selection, else the text so far.

# re-run
stop_rerun | escape | Stop | stop | 0; resting Close
    Stop the run, then close.
side | tab | Side | column(1) | 1; first; also shift+tab=column(-1); shown Tab
    Go to the other answer.
first_difference | d enter | Difference | difference | 2
    Go to the first token at which the answers diverge.
branch_side | 1-9 | Branch | branch(N)
    Branch with that alternative of the token shown, with the run's parameters.
save_rerun | ctrl+s | Save | sessions.flow:save | 4; first
    Name the session and save it.
copy_side | y | Copy | copy_answer | 3
    Copy this answer's exact text.
stop_sides | ctrl+c | Stop all | copy_or_stop_all | first; resting
    Copy the selection, else stop.

# sessions
close_sessions | escape | Back | close | 0
    Close the list.
open_session | enter | Open | | 1; fixed
    Open this session.
rename_session | ctrl+r | Rename | rename | 2
    Change the title.
tag_session | ctrl+t | Tags | tag | 6
    Change the tags.
compare_session | ctrl+k f8 | Compare | compare | 5
    Compare its runs with those of the open session.
duplicate_session | ctrl+d | Duplicate | duplicate | 7
    Copy the session.
delete_session | ctrl+x | Delete | delete | 3
    Move it to the trash, which keeps it for 30 days.
undelete_session | ctrl+z | Undo | undelete | 4
    Restore the session deleted last, also after a restart.

# grid
stop_grid | escape | Stop | stop | 0; resting Close
    Stop everything, then close.
open_cell | enter | Open | | 1; also ctrl+home=row(0) ctrl+end=row(-1)
    Show the answers of this cell.
compare_row | c | Row | | 2
    Show the answers of this row side by side, or of the column where it is the only one.
measure | m | Measure | | 3
    Show and colour by the next measure.
resume | r | Resume | | 4
    Resend the requests that have no answer (asks first).
stop_cells | ctrl+c | Stop all | stop_all | 5; first; resting
    Stop everything.

# presets
rename_preset | ctrl+r | Rename | rename
    Give your preset another name.
duplicate_preset | ctrl+d | Duplicate | duplicate
    Copy it to a preset of your own.
delete_preset | ctrl+x | Delete | delete
    Delete your preset (asks first).
import_preset | ctrl+o | Import | import
    Import a preset from a file.
export_preset | ctrl+s | Export | export
    Export the preset to a file.

# wire
close_wire | escape | Back | close | 0
    Close, and go to this event's token.
copy_raw | y | Copy | | 2
    Copy the row's text in full.
copy_curl | c | curl | wire.flow:copy_as_curl | 3
    Copy the request as a curl command.
copy_python | p | Python | wire.flow:copy_as_python | 4
    Copy the request as a Python program.
raw | tab | Scroll | | 5; fixed
    Go to the raw text, to scroll it.

# events
move_event | up down | Event | move(-1) move(1) | 1
    Previous, next event.
page_events | pageup pagedown | Page | page(-1) page(1)
    A page of events up, down.
end_events | home end | First, last | go(0) go(-1)
    Go to the first, the last event.

# endpoints
close_endpoints | escape | Back | close | 0
    Close the list.
use_endpoint | enter | Use | | 1; fixed
    Send requests to this endpoint.
add_endpoint | ctrl+n | Add | add | 2
    Add an endpoint.
edit_endpoint | ctrl+e | Edit | edit | 3
    Edit the endpoint.
open_endpoint | ctrl+o | File | open | 4
    Edit its file in $EDITOR.
test_endpoint | ctrl+t | Test | test | 5
    List its models and ask for one token.
delete_endpoint | ctrl+x | Delete | delete | 6
    Delete your profile (asks first).

# endpoint form
drop_endpoint | escape | Back | close | 0
    Close without saving.
save_endpoint | ctrl+s ctrl+j | Save | save | 1
    Save the profile.
next_field | tab shift+tab | Field | | 2; fixed; shown Tab ↑ ↓
    Next, previous field.
move_field | up down | Previous, next field | app.focus_previous app.focus_next
    Previous, next field.

# branches
go_to_run | enter | Go to | | 1; fixed
    Go to the run in the output.
kin | left right | Parent, branch | parent child | 2; first
    Go to the parent run, or to the first branch of this one.
name_run | n | Name | name | 3
    Name the run; an empty name removes it.
prune | d delete | Prune | | 4
    Remove the run and all its branches from the session (u undoes).
undo_prune | u ctrl+z | Undo | undo | 5
    Undo the last change (U redoes it).
redo_prune | U ctrl+y | Redo | redo
    Redo what was undone last.

# choices
go_to_choice | enter | Go to | | 1; fixed
    Go to the choice in the output.

# probe
send_probe | enter ctrl+j f5 | Send | send | 0; shown Enter
    Send the listed requests.
stop_probe | escape | Stop | stop | 1; resting Close
    Stop and keep the results so far, then close.
stop_requests | ctrl+c | Stop sending | stop_sending
    Stop and keep the results so far.

# chat
say | ctrl+j f5 | Send | | 0
    Send the message.
leave_chat | escape | Stop | | 1; yields; resting Close
    Stop the answer, else close the chat.
prompt_preview | ctrl+e | Exact prompt | | 2
    Show exactly what would be sent.
turns | f4 | Turns | focus_view | 3
    Go to the turns.
template | ctrl+t | Template | chat.settings_flow:template | 4
    Choose the prompt template: by name, or a file.
system | f3 | System | chat.settings_flow:system | 5
    Edit the system prompt.
prefill | f6 | Prefill | chat.settings_flow:prefill | 7
    Write the text the next answer begins with.
when_full | f7 | Context | chat.settings_flow:when_full | 8
    Choose what is left out when the context is full, and its size.
chat_variables | f10 | Variables | chat.settings_flow:variables | 9
    Set the values of {{name}}, typed or from a file.
jump_to_turn | ctrl+g | Jump | | 10
    Go to a turn by its number or its text.
take_back | ctrl+b | Recall | | 11
    Put the last message back into the composer.
to_raw | f9 | Raw | | 12
    Continue with the exact prompt in the prompt pane.
to_composer | f2 | Composer | focus_composer
    Go to the composer.
chat_palette | f1 ctrl+p | Commands | palette | 6; also ctrl+backslash=palette
    Every command of the chat by name.

# turns
composer | f2 | Composer | screen.focus_composer | 0; first
    Go to the composer.
next_turn | j k | Turn | turn(1) turn(-1) | 1
    Next, previous turn.
other_branch | > < | Branch | screen.other_branch(1) screen.other_branch(-1) | 2; shown < >
    Next, previous branch at the turn.
edit_turn | e | Edit | screen.edit_turn | 3
    Edit the turn; sending it makes a branch.
answer_again | r | Regenerate | screen.answer_again | 4
    Generate another answer, as a branch.
go_on | enter | Continue | screen.go_on | 5
    Continue a truncated answer, as a branch.
delete_turn | d | Delete | screen.delete_turn | 6
    Delete the turn and those after it.
turns_undo | u | Undo | screen.undo | 7
    Undo the last change.
turns_redo | U | Redo | screen.redo | 13
    Redo what was undone last.
fold | space | Fold | fold | 8; shown Space
    Fold or unfold the turn.
fold_all | f | Fold all | fold_all | 14
    Fold or unfold all turns.
copy_turn | y | Copy | copy_turn | 9
    Copy the turn's exact text.
turns_inspect | i tab | Inspect | inspect | 10
    Go to the inspector, to choose an alternative.
branch_with | 1-9 | Alternative | screen.branch_with(N) | 12
    Regenerate from this token on, with that alternative.
turns_replay | p | Replay | chat.answers_flow:replay_answer | 11
    Replay the answer at its recorded pace.
turns_rerun | R | Re-run | chat.answers_flow:rerun_answer | 15
    Send the exact prompt again and compare the answers.
compare_answers | f8 | Compare | chat.answers_flow:compare_answers | 12
    Answer with several presets; each answer is a branch.
turns_find | / | Find | find | 15
    Find a text in the answers; n and N go to the next and previous match.
turns_colour | c | Colour | cycle_colour | 16
    Colour by the next measure, or not at all.
turns_whitespace | w | Whitespace | toggle_whitespace | 17
    Show spaces and line ends.

# branches, choices
close_listing | escape | Back | screen.close | 0
    Close the list.
scroll | space b | Scroll | scroll_passage(1) scroll_passage(-1) | 6
    Scroll the text below.

# popups
close_popup | escape | Close | close
    Close without choosing.

# lists
item | down up | Item | move(1) move(-1)
    Next, previous item.
page_items | pagedown pageup | Page | move(10) move(-10)
    Move ten items down, up.

# lists to choose from
picker_item | ctrl+n ctrl+p | Next, previous item | move(1) move(-1)
    Next, previous item.

# lists to choose several from
choose_item | space | Toggle | choose
    Select the item, or deselect it.
take_items | enter | OK | take
    Use the selection.
vary_item | + | Vary | vary
    Add a variation of the item.
switch_items | s | Switch | switch
    Turn the switch on or off.

# questions
yes | y enter | Yes | answer(True)
    Confirm.
no | n | No | answer(False)
    Cancel.

# texts
take_text | ctrl+j f5 | OK | take
    Use the text.

# curl
take_curl | ctrl+j ctrl+s | OK | take
    Use the prompt and parameters of the command.
"""
"""All commands, in sections by pane or screen.

A command has two lines: `id | keys | title | action | remarks`, and its help. The action is a flow, an action
of the pane, an action for each key, or an action with N for the digit; if empty, the action named by the id.
The remarks are the rank in the last row and fields of `Command`: `first` and `yields` (with or without
priority over the focused widget), `fixed`, `pane` (needs the pane), `also`, `resting` (at rest) and `shown`.
"""
_BY_NAME = (Where.EVERYWHERE, Where.ANYWHERE, Where.OUTPUT)
"""Sections whose commands the palette can run, as they do not need a cursor in a pane."""
_BEFORE_FOCUS = (
    *(Where.EVERYWHERE, Where.ANYWHERE, Where.SESSIONS, Where.PRESETS, Where.ENDPOINTS, Where.ENDPOINT_FORM),
    *(Where.PROBE, Where.CHAT, Where.POPUP, Where.LIST, Where.PICKER, Where.SELECTION, Where.WRITING),
    Where.CURL,
)
"""Sections whose keys take precedence over the focused text field or list."""


def _commands() -> Iterator[Command]:
    """Parse the table. Raises ValueError for an invalid row."""
    where = Where.ANYWHERE
    lines = filter(None, _TABLE.split("\n"))
    for line in lines:
        if line.startswith("# "):
            where = Where(line[2:])
        else:
            yield _command(where, line, next(lines).strip())


def _command(where: Where, row: str, help: str) -> Command:
    id, keys, title, does, remarks = [*(part.strip() for part in row.split("|")), "", ""][:5]
    fields: dict[str, object] = {"id": id, "title": title, "help": help, "where": where}
    fields |= {"needs_pane": where not in _BY_NAME, "priority": where in _BEFORE_FOCUS}
    if ":" in does:
        fields["flow"] = does
    elif keys == "1-9":
        fields["actions"] = tuple(does.replace("N", digit) for digit in DIGITS)
    elif " " in does:
        fields["actions"] = tuple(does.split())
    else:
        fields["action"] = does
    for remark in filter(None, remarks.split("; ")):
        name, _, value = remark.partition(" ")
        match name:
            case "first" | "yields":
                fields["priority"] = name == "first"
            case "fixed":
                fields["is_fixed"] = True
            case "pane":
                fields["needs_pane"] = True
            case "also":
                fields["also"] = tuple(tuple(pair.split("=")) for pair in value.split())
            case "resting":
                fields["at_rest"] = value
            case "shown":
                fields["shown"] = value
            case _:
                fields["footer"] = int(name)
    fields["keys"] = DIGITS if keys == "1-9" else tuple(CHARACTERS.get(key, key) for key in keys.split())
    return msgspec.convert(fields, Command)


COMMANDS = tuple(_commands())
"""All commands of the table."""

BY_ID = {command.id: command for command in COMMANDS}
"""The commands by id."""


def commands_at(where: Where, commands: Iterable[Command] = COMMANDS) -> Iterator[Command]:
    """Return the commands of a pane or screen, including those it shares with others."""
    wheres = (where, *SHARED.get(where, ()))
    return (command for command in commands if command.where in wheres)


def bindings_at(*wheres: Where) -> list[BindingType]:
    """Return the bindings of some sections, without those they share."""
    return [binding for command in COMMANDS if command.where in wheres for binding in command.bindings]
