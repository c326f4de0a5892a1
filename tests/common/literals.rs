//! Finds the string literals of Rust code, each with the calls around it.

/// A string literal outside of tests and comments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// Number of the line in the file, counted from 1.
    pub(crate) line: usize,
    /// The text, with line continuations joined.
    pub(crate) text: String,
    /// Names of the macros, functions and attributes whose brackets are open around it, outermost first:
    /// `warn!`, `with_context`.
    pub(crate) within: Vec<String>,
}

/// Returns the string literals of `code` up to its module of tests.
pub(crate) fn literals(code: &str) -> Vec<Literal> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut within, mut rest) = (Vec::new(), Vec::new(), code);
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some((text, after)) = literal(rest) {
            let line = code[..code.len() - rest.len()].matches('\n').count() + 1;
            found.push(Literal { line, text, within: within.clone() });
            rest = after;
        } else if first == '\'' {
            rest = after_character(rest);
        } else {
            match first {
                '(' | '[' | '{' => within.push(name_before(&code[..code.len() - rest.len()])),
                ')' | ']' | '}' => _ = within.pop(),
                _ => {}
            }
            // A name is skipped as a whole, so that the `r` of `for"` does not begin a raw string.
            let name = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            rest = &rest[name.max(first.len_utf8())..];
        }
    }
    found.into_iter().map(without_blocks).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Removes the brackets that no name precedes.
fn without_blocks(mut literal: Literal) -> Literal {
    literal.within.retain(|name| !name.is_empty());
    literal
}

/// Returns the text of the string literal at the start of `code`, and the code after it.
fn literal(code: &str) -> Option<(String, &str)> {
    let unprefixed = code.strip_prefix('b').unwrap_or(code);
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let text = raw[hashes..].strip_prefix('"')?;
        let (text, rest) = text.split_once(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((text.to_owned(), rest));
    }
    let inner = unprefixed.strip_prefix('"')?;
    let (mut text, mut rest) = (String::new(), inner);
    loop {
        let end = rest.find(['"', '\\'])?;
        text.push_str(&rest[..end]);
        if rest[end..].starts_with('"') {
            return Some((text, &rest[end + 1..]));
        }
        let escaped = rest[end + 1..].chars().next()?;
        rest = &rest[end + 1 + escaped.len_utf8()..];
        match escaped {
            '\n' => rest = rest.trim_start(),
            'n' => text.push('\n'),
            't' => text.push(' '),
            'r' => {}
            other => text.push(other),
        }
    }
}

/// Returns the code after the character literal or lifetime at the start of `code`.
fn after_character(code: &str) -> &str {
    let mut characters = code.char_indices().skip(1);
    let Some((_, first)) = characters.next() else { return "" };
    if first == '\\' {
        let end = code[3..].find('\'').map_or(code.len(), |end| end + 4);
        return &code[end..];
    }
    match characters.next() {
        Some((at, '\'')) => &code[at + 1..],
        _ => &code[1..],
    }
}

/// Returns the name of the call whose bracket follows `code`: `warn!`, `with_context`; empty if there is none.
fn name_before(code: &str) -> String {
    let (code, bang) = match code.strip_suffix('!') {
        Some(code) => (code, "!"),
        None => (code, ""),
    };
    let name = code.rfind(|c: char| !is_of_name(c)).map_or(code, |at| &code[at..]);
    let name = name.trim_start_matches(|c: char| !is_of_name(c));
    if name.is_empty() { String::new() } else { format!("{name}{bang}") }
}
