//! The option of `leitong dedup` about languages, and their detection.
//!
//! `whatlang` recognises 70 languages by their script and by groups of three letters. It goes by the script with most
//! letters, so the letters of program code, names and markup would make a Japanese manual English: Latin letters do not
//! count if there are at least an eighth as many of other scripts. The text's first 3,000 characters decide.

use clap::Args;

use crate::cli::settings::wrong;
use leitong_pipeline::LanguageFilter;

#[derive(Debug, Args)]
#[group(id = "languages")]
pub(crate) struct Arguments {
    /// Use only documents with a text in these languages: codes such as zh,en, `und` (not recognised) or `all`. Others
    /// are counted, and in no output
    #[arg(long, value_name = "CODES", value_delimiter = ',', help_heading = "Documents")]
    language: Vec<String>,
}

impl Arguments {
    /// Returns true if languages are detected.
    pub(crate) fn are_detected(&self) -> bool {
        !self.language.is_empty()
    }

    /// Returns the option as it was given on the command line.
    pub(crate) fn given_option(&self) -> Option<String> {
        self.are_detected().then(|| format!("--language {}", self.language.join(",")))
    }

    /// Returns the filter of documents, if languages are detected.
    pub(crate) fn filter(&self) -> anyhow::Result<Option<LanguageFilter>> {
        if !self.are_detected() {
            return Ok(None);
        }
        let Some((detect, codes)) = detector() else {
            return Err(wrong("--language: this program was built without the feature `language`"));
        };
        let known = |code: &String| {
            let found = codes.iter().copied().chain(["und"]).find(|known| known == code);
            found.ok_or_else(|| {
                wrong(format_args!(
                    "--language {code}: no such language is recognised; choose all, und or some of {}",
                    codes.join(",")
                ))
            })
        };
        let named = self.language.iter().filter(|code| *code != "all");
        let keeps = named.map(known).collect::<anyhow::Result<Vec<_>>>()?;
        let keeps = if self.language.iter().any(|code| code == "all") { Vec::new() } else { keeps };
        Ok(Some(LanguageFilter { detect, keeps }))
    }
}

/// A function that detects the language of a text.
type Detect = fn(&str) -> &'static str;

/// Returns the detector, and the codes of the languages that it knows.
#[cfg(not(feature = "language"))]
fn detector() -> Option<(Detect, Vec<&'static str>)> {
    None
}

/// Returns the detector, and the codes of the languages that it knows.
#[cfg(feature = "language")]
fn detector() -> Option<(Detect, Vec<&'static str>)> {
    let mut codes: Vec<_> = whatlang::Lang::all().iter().map(|language| detection::code(*language)).collect();
    codes.sort_unstable();
    Some((detection::language_of, codes))
}

#[cfg(feature = "language")]
mod detection {
    use whatlang::Lang;

    /// Returns the language of a text, or `und`.
    pub(super) fn language_of(text: &str) -> &'static str {
        let is_latin = |c: char| c < '\u{370}' || ('\u{1e00}'..='\u{1eff}').contains(&c);
        let letters = || text.chars().filter(|c| c.is_alphabetic());
        let (latin, other) = letters().fold((0, 0), |(latin, other), c| match is_latin(c) {
            true => (latin + 1, other),
            false => (latin, other + 1_usize),
        });
        let language = if other * 8 > latin {
            let others: String =
                text.chars().map(|c| if c.is_alphabetic() && is_latin(c) { ' ' } else { c }).collect();
            whatlang::detect_lang(&others)
        } else {
            whatlang::detect_lang(text)
        };
        language.map_or("und", code)
    }

    /// Returns the code of ISO 639-1, or else that of 639-3.
    pub(super) fn code(language: Lang) -> &'static str {
        match language {
            Lang::Cmn => "zh",
            Lang::Nob => "no",
            Lang::Pes => "fa",
            other => {
                let mut codes = SHORT.split(' ').skip_while(|code| *code != other.code());
                codes.nth(1).unwrap_or(other.code())
            }
        }
    }

    /// Pairs of codes of ISO 639-3 and 639-1.
    const SHORT: &str = "\
        epo eo eng en rus ru spa es por pt ita it ben bn fra fr deu de ukr uk kat ka ara ar hin hi \
        jpn ja heb he yid yi pol pl amh am jav jv kor ko dan da swe sv fin fi tur tr nld nl hun hu \
        ces cs ell el bul bg bel be mar mr kan kn ron ro slv sl hrv hr srp sr mkd mk lit lt lav lv \
        est et tam ta vie vi urd ur tha th guj gu uzb uz pan pa aze az ind id tel te mal ml ori or \
        mya my nep ne sin si khm km tuk tk aka ak zul zu sna sn afr af lat la slk sk cat ca tgl tl \
        hye hy cym cy";
}

#[cfg(all(test, feature = "language"))]
mod tests {
    use super::detection::language_of;

    #[test]
    fn languages_are_recognised_in_their_script_with_code_between() {
        for (text, language) in [
            ("今天上午市图书馆重新开放，第一批读者已经在门口等候。", "zh"),
            ("今天上午市圖書館重新開放，第一批讀者已經在門口等候。", "zh"),
            ("次のコマンド `git commit --amend --no-edit` を実行してください。", "ja"),
            ("다음 명령 `git rebase --interactive main` 을 실행하십시오.", "ko"),
            ("The library in the old town has opened again this morning.", "en"),
            ("Die Bibliothek in der Altstadt ist seit heute Morgen wieder geöffnet.", "de"),
            ("1, 2, 3 -- 4711.", "und"),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }
}
