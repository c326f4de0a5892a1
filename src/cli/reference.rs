//! The command line, as it describes itself, → Markdown: `docs/commands.md`.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

/// What the exit statuses of all commands mean.
pub(super) const EXIT_STATUSES: [(u8, &str); 6] = [
    (0, "all went well"),
    (
        1,
        "the run failed, or was refused; or what was asked is not so: `run --check` and `topics check` found something, \
         `preset detect` does not know the format, `top --once` got no answer from a worker",
    ),
    (2, "wrong arguments or configuration"),
    (3, "(`dedup`, `extract --jsonl`) some records became dead letters"),
    (130, "a second signal ended `run` at once"),
    (141, "the reader of the output is gone, as in `leitong dedup pages.jsonl | head`"),
];

/// The same for the end of a help text.
pub(super) fn exit_statuses() -> String {
    let mut text = "Exit status:".to_owned();
    for (status, meaning) in EXIT_STATUSES {
        let _ = write!(text, "\n  {status:<4} {}", meaning.replace('`', ""));
    }
    text
}

/// The page.
pub(super) fn markdown(mut program: Command) -> String {
    program.build();
    let mut out = "# Commands\n\nMade by `leitong config commands` (`make docs`). The same stands in `leitong COMMAND --help` and in the \
                   manual pages (`leitong man DIR`); `leitong completions SHELL` has a shell complete commands and options.\n\n"
        .to_owned();
    out.push_str("## Exit status\n\n| status | meaning |\n|---|---|\n");
    for (status, meaning) in EXIT_STATUSES {
        let _ = writeln!(out, "| {status} | {} |", cell(meaning));
    }
    out.push_str("\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (variable, meaning) in ENVIRONMENT {
        let _ = writeln!(out, "| `{variable}` | {} |", cell(meaning));
    }
    out.push_str("\n## Options of every command\n\n");
    options(&mut out, program.get_arguments().filter(|argument| argument.is_global_set()));
    for command in visible(&program) {
        section(&mut out, command, "leitong");
    }
    out
}

/// What the program reads of its environment, beside the variables that a configuration names.
const ENVIRONMENT: [(&str, &str); 2] = [
    ("NO_COLOR", "set to anything but nothing: no colours"),
    ("RUST_LOG", "what is logged: a level (`warn`), or modules with levels (`info,leitong::kafka=debug`)"),
];

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn section(out: &mut String, command: &Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(out, "## {name}\n\n{}.\n\n", text(&about));
    if command.has_subcommands() {
        visible(command).for_each(|inner| section(out, inner, &name));
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let _ = write!(out, "```text\n{usage}\n```\n\n");
    options(out, command.get_arguments().filter(|argument| !argument.is_global_set()));
    if let Some(after) = command.get_after_help() {
        let _ = write!(out, "```text\n{}\n```\n\n", after.to_string().trim_end());
    }
}

/// A table of arguments and options, if there are any.
fn options<'a>(out: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let shown = arguments.filter(|argument| {
        !argument.is_hide_set()
            && !matches!(
                argument.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            )
    });
    let rows: Vec<String> = shown.map(row).collect();
    if !rows.is_empty() {
        let _ = write!(out, "| argument | meaning |\n|---|---|\n{}\n", rows.concat());
    }
}

fn row(argument: &Arg) -> String {
    let values: Vec<String> =
        argument.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect();
    let takes_value = argument.get_action().takes_values();
    let values = if takes_value { values.join(" ") } else { String::new() };
    let name = match (argument.get_long(), argument.get_short()) {
        (Some(long), Some(short)) => format!("--{long}, -{short} {values}"),
        (Some(long), None) => format!("--{long} {values}"),
        (None, Some(short)) => format!("-{short} {values}"),
        (None, None) => values,
    };
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut meaning = text(&help);
    if takes_value && !argument.is_hide_possible_values_set() {
        let possible = argument.get_possible_values();
        let listed: Vec<String> = possible
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !listed.is_empty() {
            let _ = write!(meaning, ": {}", listed.join(", "));
        }
    }
    let defaults = argument.get_default_values();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        let _ = write!(meaning, " (default `{}`)", defaults.join(" "));
    }
    format!("| `{}` | {} |\n", name.trim().replace('|', "\\|"), cell(&meaning))
}

/// On one line.
fn text(help: &str) -> String {
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What may stand in a cell of a table: no end of the cell, and no markup outside of `code`.
fn cell(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let pieces =
        pieces.map(|(at, piece)| if at % 2 == 0 { piece.replace('<', "&lt;") } else { piece.to_owned() });
    pieces.collect::<Vec<_>>().join("`").replace('|', "\\|")
}
