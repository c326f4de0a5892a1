//! Traditional → simplified script, with Taiwan's vocabulary: 軟體 and 软件 are one word.
//!
//! Only paragraphs that are written in traditional script are folded. That matters: the phrase tables
//! read 程序 as Taiwan's word for a process, and would turn it into 进程 in a simplified text, where it
//! means a program.

use std::ops::RangeInclusive;

use opencc_fmmseg::OpenCC;

/// Folds paragraphs by OpenCC's tables (`tw2sp`). Built once: loading takes some 50 ms.
pub(super) struct ScriptFolder {
    opencc: OpenCC,
    /// Characters that only traditional script has.
    traditional: IdeographSet,
    /// Characters that only simplified script has.
    simplified: IdeographSet,
}

impl ScriptFolder {
    pub(super) fn new() -> Self {
        let mut opencc = OpenCC::new();
        opencc.set_parallel(false); // one page is one thread's work
        let mut traditional = IdeographSet::default();
        let mut simplified = IdeographSet::default();
        let mut buffer = [0; 4];
        for c in IDEOGRAPHS {
            let folded = opencc.t2s(c.encode_utf8(&mut buffer), false);
            if let Some(s) = folded.chars().next().filter(|s| *s != c) {
                traditional.insert(c);
                simplified.insert(s);
            }
        }
        simplified.remove_all(&traditional);
        Self { opencc, traditional, simplified }
    }

    /// `paragraph` in simplified script, if it is written in traditional script: if it has more characters
    /// that only this script has than such of the other.
    pub(super) fn fold(&self, paragraph: &str) -> Option<String> {
        let (mut traditional, mut simplified) = (0_u32, 0_u32);
        for c in paragraph.chars() {
            traditional += u32::from(self.traditional.contains(c));
            simplified += u32::from(self.simplified.contains(c));
        }
        (traditional > simplified).then(|| self.opencc.tw2sp(paragraph, false))
    }
}

/// The main block of ideographs; what lies beyond is too rare to tell a paragraph's script.
const IDEOGRAPHS: RangeInclusive<char> = '\u{4e00}'..='\u{9fff}';

/// A set of ideographs: 2.6 KB, so that both sets stay in the innermost cache.
#[derive(Debug)]
struct IdeographSet([u64; 0x5200 / 64]);

impl Default for IdeographSet {
    fn default() -> Self {
        Self([0; 0x5200 / 64])
    }
}

impl IdeographSet {
    #[inline]
    fn contains(&self, c: char) -> bool {
        let at = u32::from(c).wrapping_sub(u32::from(*IDEOGRAPHS.start())) as usize;
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn insert(&mut self, c: char) {
        if IDEOGRAPHS.contains(&c) {
            let at = (u32::from(c) - u32::from(*IDEOGRAPHS.start())) as usize;
            self.0[at / 64] |= 1 << (at % 64);
        }
    }

    fn remove_all(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(word, others)| *word &= !others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_traditional_paragraphs_with_their_vocabulary() {
        let folder = ScriptFolder::new();
        let fold = |text| folder.fold(text);
        assert_eq!(fold("軟體程式經由網路傳送資訊").as_deref(), Some("软件程序经由网络发送信息"));
        assert_eq!(fold("乾隆皇帝喜歡乾燥的頭髮").as_deref(), Some("乾隆皇帝喜欢干燥的头发"));
    }

    #[test]
    fn leaves_simplified_paragraphs_alone() {
        let folder = ScriptFolder::new();
        assert_eq!(folder.fold("这个软件程序的数据"), None, "程序 must not become 进程");
        assert_eq!(folder.fold("皇后在山后头"), None);
        assert_eq!(folder.fold("no Chinese at all"), None);
        assert_eq!(folder.fold("这篇简体文章引用了一句「學而時習之」而已，仍旧是简体"), None);
    }
}
