//! Removes from a title what distinguishes its page from the others of an article: `(2)`, `Page 2 of 5`, `第2页`.
//!
//! In: a title, and the page's number from its URL. Out: the words of the title in lower case; `None` if no word is
//! left. Cost: linear in the title's length.

use crate::extract::page_kind::list;

/// Numbers written as words.
const CHINESE: [char; 10] = ['一', '二', '三', '四', '五', '六', '七', '八', '九', '十'];

/// Returns the words of `title` without the number of the page, `number` in its URL.
pub(super) fn without_number(title: &str, number: u32) -> Option<String> {
    let words = words(title);
    let mut kept: Vec<&str> = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match page_label_words(&words[at..], number, kept.is_empty()) {
            0 => {
                kept.push(word);
                at += 1;
            }
            length => at += length,
        }
    }
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// Returns the words in lower case, split where a number or a mark of a page's number begins or ends.
fn words(title: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for c in title.to_lowercase().chars() {
        let kind = match c {
            '0'..='9' => Some(0),
            '第' | '页' | '頁' | '共' => None,
            _ if c.is_alphanumeric() => Some(1),
            _ => {
                last = None;
                continue;
            }
        };
        match words.last_mut() {
            Some(word) if kind.is_some() && kind == last => word.push(c),
            _ => words.push(c.into()),
        }
        last = kind;
    }
    words
}

/// Returns how many of the first words name a page and its number. `is_first` is true if no word was kept yet; a bare
/// number then belongs to the title.
fn page_label_words(words: &[String], number: u32, is_first: bool) -> usize {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let is_number = |at: usize| word(at).parse().is_ok_and(|total: u32| (number..100).contains(&total));
    // Some URLs count from 0, and that of a first page may have no number.
    let is_page = |at: usize| word(at).parse().is_ok_and(|found: u32| found == number || found == number + 1);
    let of_total = |at: usize| match (list("of").contains(&word(at)), is_number(at), is_number(at + 1)) {
        (true, _, true) => 2 + usize::from(matches!(word(at + 2), "页" | "頁")),
        (false, true, _) => 1,
        _ => 0,
    };
    let is_chinese = || {
        let mut digits = word(1).chars();
        matches!((digits.next(), digits.next()), (Some(digit), None)
            if CHINESE.iter().zip(1..).any(|(known, value)| *known == digit && (value == number || value == number + 1)))
    };
    if word(0) == "第" && (is_page(1) || is_chinese()) && matches!(word(2), "页" | "頁") {
        return 3 + of_total(3);
    }
    if list("page number").contains(&word(0)) && is_page(1) {
        return 2 + of_total(2);
    }
    // `Tea (2)`, `Tea 2/5`, `2 of 5`.
    if is_page(0) && !is_first {
        let total = of_total(1);
        return if words.len() == 1 + total { 1 + total } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_label_is_removed() {
        #[rustfmt::skip]
        const TITLES: [&str; 9] = [
            "Tea and water", "Tea and water (2)", "Tea and Water - Page 2", "Tea and water | Page 2 of 5",
            "Tea and water, 2/5", "Tea and water, 2 of 5", "Page 2: Tea and water",
            "Tea and water – Seite 2 von 5", "TEA AND WATER_2",
        ];
        for title in TITLES {
            assert_eq!(without_number(title, 2).as_deref(), Some("tea and water"), "{title}");
        }
        for title in [
            "今年头采茶",
            "今年头采茶(2)",
            "今年头采茶 第2页",
            "今年头采茶（第二页）",
            "今年头采茶 第2页 共5页",
            "今年头采茶_2",
        ] {
            assert_eq!(without_number(title, 2).as_deref(), Some("今年头采茶"), "{title}");
            assert_eq!(without_number(title, 1), without_number(title, 2), "a url that counts from 0");
        }
        assert_eq!(without_number("Tea (1)", 0).as_deref(), Some("tea"), "a first page");
    }

    #[test]
    fn other_numbers_are_kept() {
        assert_eq!(without_number("2 kinds of tea", 2).as_deref(), Some("2 kinds of tea"));
        assert_eq!(without_number("Tea 7", 2).as_deref(), Some("tea 7"));
        assert_eq!(without_number("No. 2-1928", 2).as_deref(), Some("no 2 1928"));
        assert_eq!(without_number("Top 2 teas", 2).as_deref(), Some("top 2 teas"));
        assert_eq!(without_number("第2页", 2), None);
        assert_eq!(without_number(" - ", 1), None);
    }
}
