//! Names of Chinese newspapers, agencies and sites, as they appear in a line that names the source of a text.

/// Endings of senders' names in Chinese.
#[rustfmt::skip]
pub(super) const SENDERS: [&str; 14] = [
    "社", "网", "網", "报", "報", "新闻", "电视台", "广播", "客户端", "周刊", "日报", "晚报", "时报",
    "在线",
];

/// Senders that mean the publisher of the page itself.
pub(super) const SELF: [&str; 12] =
    ["本报", "本報", "本网", "本網", "本社", "本刊", "本台", "本站", "本新闻", "网报", "大公网报", "我社"];

/// Returns true if a name is that of a paper, an agency or a site.
pub(super) fn is_sender(name: &str) -> bool {
    SENDERS.iter().any(|ending| name.ends_with(ending)) && !SELF.contains(&name)
}

/// Returns true if a character is Chinese.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
