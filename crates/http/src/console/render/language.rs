//! English and Chinese. Both versions of a text are next to each other in the code, so neither is changed
//! without the other.

/// A language of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// `en`
    #[default]
    English,
    /// `zh`
    Chinese,
}

impl Language {
    /// Both languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Returns the text in this language.
    pub(crate) fn say<T>(self, english: T, chinese: T) -> T {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }

    /// Returns the tag for `lang` attributes.
    pub(crate) fn tag(self) -> &'static str {
        self.say("en", "zh-CN")
    }

    /// Returns the short name, for addresses and arguments.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.say("en", "zh")
    }

    /// Returns the name of the language in itself.
    pub(crate) fn own_name(self) -> &'static str {
        self.say("English", "中文")
    }

    /// Returns the other language.
    #[must_use]
    pub fn other(self) -> Self {
        self.say(Self::Chinese, Self::English)
    }

    /// Returns the language of a tag such as `en`, `zh-TW` or `zh_CN.UTF-8`.
    pub(crate) fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_', '.', ';']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| primary.eq_ignore_ascii_case(language.name()))
    }

    /// Returns the language for this value of `LANG`.
    #[must_use]
    pub fn from_environment(lang: &str) -> Self {
        Self::from_tag(lang).unwrap_or_default()
    }

    /// Returns the language that a browser prefers, by its `Accept-Language`.
    #[must_use]
    pub fn accepted(header: &str) -> Self {
        let offer = |part: &str| {
            let (tag, parameters) = part.split_once(';').unwrap_or((part, ""));
            let quality = parameters.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
            let quality = quality.ok().filter(|quality| (0.0..=1.0).contains(quality))?;
            Self::from_tag(tag).filter(|_| quality > 0.0).map(|language| (language, quality))
        };
        // Browsers send a few offers; of a longer list only the start is read.
        let offers = header.split(',').take(32).filter_map(offer);
        let better = |best: Option<(Self, f32)>, offer: (Self, f32)| match best {
            Some(best) if best.1 >= offer.1 => Some(best),
            _ => Some(offer),
        };
        offers.fold(None, better).map_or(Self::default(), |(language, _)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_the_language_that_they_prefer() {
        for (header, wanted) in [
            ("", "en"),
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
            ("de, en;q=0.4, zh-TW;q=0.7", "zh"),
            ("en-GB,en;q=0.9,zh;q=0.1", "en"),
            ("zh;q=0, fr", "en"),
            ("zh;q=x, en;q=-1", "en"),
            ("*", "en"),
        ] {
            assert_eq!(Language::accepted(header).name(), wanted, "{header:?}");
        }
        assert_eq!(Language::from_environment("zh_CN.UTF-8"), Language::Chinese);
        assert_eq!(Language::from_environment("C.UTF-8"), Language::English);
    }
}
