//! Converts traditional to simplified script, with Taiwan's vocabulary: 軟體 and 软件 become one word.
//!
//! Only paragraphs written in traditional script are converted. The phrase tables read 程序 as Taiwan's word for a
//! process and would turn it into 进程 in a simplified text, where it means a program.

use opencc_fmmseg::OpenCC;

use super::runs::{IDEOGRAPH_BYTES, number_of_three_bytes};
use leitong_base::work::{TooMuchWork, Work};

/// Steps of work for a byte that is converted.
const BYTE_STEPS: u64 = 60;

/// A converter of paragraphs with OpenCC's tables (`tw2sp`). Built once; loading takes about 50 ms.
pub(super) struct ScriptFolder {
    opencc: OpenCC,
    /// For each ideograph of the main block: 1 if only traditional script has it, -1 if only simplified script has it,
    /// else 0.
    leaning: Box<[i8; IDEOGRAPHS]>,
}

/// Number of ideographs in the main block, U+4E00 to U+9FFF. The others are too rare to identify a paragraph's script.
const IDEOGRAPHS: usize = 0x5200;

impl ScriptFolder {
    pub(super) fn new() -> Self {
        let mut opencc = OpenCC::new();
        opencc.set_parallel(false); // Pages are processed in parallel already.
        let mut leaning = Box::new([0; IDEOGRAPHS]);
        let mut buffer = [0; 4];
        let mut folded = |c: char| opencc.t2s(c.encode_utf8(&mut buffer), false).chars().next();
        let pairs = ('\u{4e00}'..='\u{9fff}').filter_map(|c| Some((c, folded(c)?)));
        let pairs: Vec<(char, char)> = pairs.filter(|(c, folded)| c != folded).collect();
        // A simplified character may also be a traditional one.
        for (character, leans) in pairs.iter().map(|(_, s)| (s, -1)).chain(pairs.iter().map(|(t, _)| (t, 1)))
        {
            let number = u32::from(*character).wrapping_sub(0x4e00) as usize;
            if let Some(slot) = leaning.get_mut(number) {
                *slot = leans;
            }
        }
        Self { opencc, leaning }
    }

    /// Returns `paragraph` in simplified script if it is written in traditional script: if it has more characters that
    /// occur only in traditional script than characters that occur only in simplified script.
    ///
    /// # Errors
    /// Returns [`TooMuchWork`] if it would cost more than is left of `work`.
    pub(super) fn fold(&self, paragraph: &str, work: &mut Work) -> Result<Option<String>, TooMuchWork> {
        let bytes = paragraph.as_bytes();
        let (mut at, mut sum) = (0, 0);
        // Other characters are skipped byte by byte: none of their bytes looks like the start of an ideograph.
        while let Some(three) = bytes[at..].first_chunk() {
            let number = usize::from(number_of_three_bytes(*three));
            match self.leaning.get(number.wrapping_sub(0x4e00)) {
                Some(leaning) if matches!(three[0], 0xe4..=0xe9) => {
                    (at, sum) = (at + IDEOGRAPH_BYTES, sum + i32::from(*leaning));
                }
                _ => at += 1,
            }
        }
        if sum <= 0 {
            return Ok(None);
        }
        work.add(paragraph.len(), BYTE_STEPS)?;
        Ok(Some(self.opencc.tw2sp(paragraph, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_traditional_paragraphs_with_their_vocabulary() {
        let folder = ScriptFolder::new();
        let fold = |text| folder.fold(text, &mut Work::unbounded()).expect("no bound");
        assert_eq!(fold("軟體程式經由網路傳送資訊").as_deref(), Some("软件程序经由网络发送信息"));
        assert_eq!(fold("乾隆皇帝喜歡乾燥的頭髮").as_deref(), Some("乾隆皇帝喜欢干燥的头发"));
    }

    #[test]
    fn simplified_paragraphs_are_unchanged() {
        let folder = ScriptFolder::new();
        let fold = |text| folder.fold(text, &mut Work::unbounded()).expect("no bound");
        assert_eq!(fold("这个软件程序的数据"), None, "程序 must not become 进程");
        assert_eq!(fold("皇后在山后头"), None);
        assert_eq!(fold("no Chinese at all"), None);
        assert_eq!(fold("这篇简体文章引用了一句「學而時習之」而已，仍旧是简体"), None);
    }
}
