//! The words that come before an author's name, in several languages.

/// English words before an author's name.
pub(super) const BYLINES: [&str; 9] =
    ["written by", "posted by", "words by", "story by", "text by", "reporting by", "words:", "author", "by"];

/// Words before an author's name in other languages. Those without a colon end in a preposition: each name after them
/// must have at least two words, since `Von Hamburg` names a place.
#[rustfmt::skip]
pub(super) const BYLINES_OF: [(&str, &[&str]); 19] = [
    (
        "de",
        &[
            "ein artikel von", "ein beitrag von", "ein gastbeitrag von", "ein text von", "geschrieben von",
            "verfasst von", "veröffentlicht von", "von", "text:", "text von", "autor:", "autorin:",
            "autoren:",
        ],
    ),
    (
        "fr",
        &["écrit par", "rédigé par", "publié par", "un article de", "texte:", "auteur:", "autrice:", "par"],
    ),
    ("es", &["escrito por", "publicado por", "un artículo de", "texto:", "autor:", "autora:", "por"]),
    ("pt", &["escrito por", "publicado por", "um artigo de", "texto:", "autor:", "autora:", "por"]),
    (
        "it",
        &[
            "scritto da", "pubblicato da", "a cura di", "un articolo di", "testo:", "autore:", "autrice:",
            "di",
        ],
    ),
    ("nl", &["geschreven door", "een artikel van", "tekst:", "auteur:", "door"]),
    ("ru", &["автор:", "автор статьи:", "текст:"]),
    ("uk", &["автор:", "авторка:", "текст:"]),
    ("pl", &["autor:", "autorka:", "tekst:", "opracowanie:"]),
    ("cs", &["autor:", "autorka:", "text:"]),
    ("ro", &["autor:", "autoare:", "scris de"]),
    ("hu", &["szerző:", "írta:"]),
    ("tr", &["yazar:", "yazan:", "haber:"]),
    ("fi", &["kirjoittaja:", "teksti:"]),
    ("sv", &["författare:", "text:", "skriven av", "av"]),
    ("da", &["forfatter:", "tekst:", "skrevet af", "af"]),
    ("nb", &["forfatter:", "tekst:", "skrevet av", "av"]),
    ("vi", &["tác giả:"]),
    ("id", &["penulis:", "oleh:", "oleh"]),
];

/// Returns true if `words` are all that comes before an author's name, in any of the languages.
pub(super) fn is_cue(words: &str) -> bool {
    let cues = BYLINES.iter().chain(BYLINES_OF.iter().flat_map(|(_, cues)| *cues));
    cues.map(|cue| cue.trim_end_matches(':')).any(|cue| cue_length(words, cue) == Some(words.len()))
}

/// Returns the length of `cue` at the start of `line`, in any case. Before a colon there may be a space, as in French,
/// where it may be a narrow one.
pub(super) fn cue_length(line: &str, cue: &str) -> Option<usize> {
    let mut rest = line;
    for wanted in cue.chars() {
        let start = if wanted == ':' { rest.trim_start() } else { rest };
        let mut after = start.chars();
        let found = after.next()?;
        let is_same = match wanted {
            ':' => matches!(found, ':' | '：'),
            ' ' => found.is_whitespace(),
            _ => found.to_lowercase().eq([wanted]),
        };
        is_same.then_some(())?;
        rest = after.as_str();
    }
    Some(line.len() - rest.len())
}
