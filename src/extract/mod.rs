//! HTML → [`Document`]: the main text, without the furniture round it.

/// Part of the fingerprint hash: raised whenever the same page may give another text than before.
pub const VERSION: u32 = 1;

/// The main text of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The page's title, if it has one.
    pub title: Option<String>,
    /// In the order of the page.
    pub paragraphs: Vec<Paragraph>,
}

/// One block of the main text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// What it is on the page.
    pub kind: ParagraphKind,
    /// Its text, in one line but for [`ParagraphKind::Code`].
    pub text: String,
}

/// What a paragraph is on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParagraphKind {
    /// A heading, from 1 (highest) to 6.
    Heading(u8),
    /// Running text.
    Paragraph,
    /// An item of a list.
    ListItem,
    /// A cell of a table.
    TableCell,
    /// A quotation.
    Quote,
    /// Program text, with its line breaks.
    Code,
}

impl Document {
    /// The document of a text that comes without markup: each line is a paragraph.
    #[must_use]
    pub fn from_text(title: Option<String>, text: &str) -> Self {
        let paragraphs = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(|line| Paragraph { kind: ParagraphKind::Paragraph, text: line.to_owned() })
            .collect();
        Self { title, paragraphs }
    }

    /// The main text: one paragraph a line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for paragraph in &self.paragraphs {
            text.push_str(&paragraph.text);
            text.push('\n');
        }
        text
    }
}
