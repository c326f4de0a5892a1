//! Traditional → simplified script, with Taiwan's vocabulary: 軟體 and 软件 are one word.
//!
//! Only paragraphs that are written in traditional script are folded. That matters: the phrase tables
//! read 程序 as Taiwan's word for a process, and would turn it into 进程 in a simplified text, where it
//! means a program.

use opencc_fmmseg::OpenCC;

/// Folds paragraphs by OpenCC's tables (`tw2sp`). Built once: loading takes some 50 ms.
pub(super) struct ScriptFolder {
    opencc: OpenCC,
    /// Which script a character of the Basic Multilingual Plane belongs to, where it belongs to one alone.
    scripts: Box<[Script; 0x1_0000]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Both,
    Traditional,
    Simplified,
}

impl ScriptFolder {
    pub(super) fn new() -> Self {
        let mut opencc = OpenCC::new();
        opencc.set_parallel(false); // one page is one thread's work
        let mut scripts = Box::new([Script::Both; 0x1_0000]);
        let mut buffer = [0; 4];
        for c in '\u{3400}'..='\u{9fff}' {
            let simplified = opencc.t2s(c.encode_utf8(&mut buffer), false);
            let mut simplified = simplified.chars();
            if let (Some(s), None) = (simplified.next(), simplified.next())
                && s != c
            {
                scripts[c as usize] = Script::Traditional;
                if let Some(script) = scripts.get_mut(s as usize)
                    && *script == Script::Both
                {
                    *script = Script::Simplified;
                }
            }
        }
        Self { opencc, scripts }
    }

    /// `paragraph` in simplified script, if it is written in traditional script: if it has more characters
    /// that only this script has than such of the other.
    pub(super) fn fold(&self, paragraph: &str) -> Option<String> {
        let (mut traditional, mut simplified) = (0_u32, 0_u32);
        for c in paragraph.chars() {
            match self.scripts.get(c as usize) {
                Some(Script::Traditional) => traditional += 1,
                Some(Script::Simplified) => simplified += 1,
                _ => {}
            }
        }
        (traditional > simplified).then(|| self.opencc.tw2sp(paragraph, false))
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
