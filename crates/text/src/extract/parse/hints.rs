//! Reads hints on the role of an element from names: element names, roles, and the words in `class`, `id` and
//! `itemprop`.
//!
//! In: attribute values. Out: a set of [`Hints`], and a hash of the words, which is part of a node's structural
//! signature. Names are split at punctuation, digits and inner capitals (`post-meta`, `postMeta2` → post, meta), and
//! words are looked up by a 32-bit hash in a table computed at compile time. A hint alone decides nothing; it is one of
//! the features by which a block is scored. Cost: linear in the names, about 1 ns per byte.

use crate::extract::parse::tag::Tag;

/// A set of hints, one bit each.
pub(in crate::extract) type Hints = u32;

/// Menus, site maps.
pub(in crate::extract) const NAV: Hints = 1;
/// Page or section headers.
pub(in crate::extract) const HEADER: Hints = 1 << 1;
/// Page or section footers.
pub(in crate::extract) const FOOTER: Hints = 1 << 2;
/// Side columns.
pub(in crate::extract) const SIDE: Hints = 1 << 3;
/// Readers' comments.
pub(in crate::extract) const COMMENT: Hints = 1 << 4;
/// Links to other pages: related, recommended, most read.
pub(in crate::extract) const RELATED: Hints = 1 << 5;
/// Share bars and the like.
pub(in crate::extract) const SHARE: Hints = 1 << 6;
/// Advertisement.
pub(in crate::extract) const AD: Hints = 1 << 7;
/// Date, source, author line.
pub(in crate::extract) const META: Hints = 1 << 8;
/// Cookie banners, pop-ups, warnings.
pub(in crate::extract) const POPUP: Hints = 1 << 9;
/// Breadcrumbs.
pub(in crate::extract) const CRUMB: Hints = 1 << 10;
/// Links to other pages of the same text.
pub(in crate::extract) const PAGER: Hints = 1 << 11;
/// Forms, log-in, search.
pub(in crate::extract) const FORM: Hints = 1 << 12;
/// Parts that are not shown.
pub(in crate::extract) const HIDDEN: Hints = 1 << 13;
/// User boxes and signatures of forums.
pub(in crate::extract) const USER: Hints = 1 << 14;
/// Modules, widgets, boxes.
pub(in crate::extract) const WIDGET: Hints = 1 << 15;
/// Captions and figures.
pub(in crate::extract) const CAPTION: Hints = 1 << 16;
/// Tables of contents.
pub(in crate::extract) const TOC: Hints = 1 << 17;
/// Newsletters, subscriptions, apps.
pub(in crate::extract) const PROMO: Hints = 1 << 18;
/// Content, text.
pub(in crate::extract) const CONTENT: Hints = 1 << 19;
/// Article, story.
pub(in crate::extract) const ARTICLE: Hints = 1 << 20;
/// Main part.
pub(in crate::extract) const MAIN: Hints = 1 << 21;
/// Posts, messages, answers.
pub(in crate::extract) const POST: Hints = 1 << 22;
/// Title, headline.
pub(in crate::extract) const TITLE: Hints = 1 << 23;
/// Summary, lead.
pub(in crate::extract) const SUMMARY: Hints = 1 << 24;
/// Lists, grids, cards.
pub(in crate::extract) const LIST: Hints = 1 << 25;
/// Author boxes.
pub(in crate::extract) const AUTHOR: Hints = 1 << 26;
/// Tags, categories.
pub(in crate::extract) const TAGS: Hints = 1 << 27;
/// Copyright, imprint, disclaimer.
pub(in crate::extract) const COPYRIGHT: Hints = 1 << 28;
/// Products, prices.
pub(in crate::extract) const PRODUCT: Hints = 1 << 29;
/// Code and technical text.
pub(in crate::extract) const CODE: Hints = 1 << 30;
/// Consent to cookies: never main text, if the hint is trusted.
pub(in crate::extract) const CONSENT: Hints = 1 << 31;

/// Hints of boilerplate. They are not trusted on a node that holds most of the page's best run of text.
pub(in crate::extract) const BOILERPLATE: Hints =
    !(HIDDEN | CONTENT | ARTICLE | MAIN | POST | SUMMARY | PRODUCT | CODE | CONSENT);

/// Words of names in lower case, with their hints. Chinese sites use English, pinyin and its initials.
const WORDS: &[(&str, Hints)] = &[
    (
        "nav|navi|navbar|navigation|navigator|menu|menus|submenu|topnav|leftnav|subnav|sitenav|sitemap|megamenu|daohang|tab|tabs|navbox|mainmenu|toolbar|topbar|skip",
        NAV,
    ),
    ("header|head|hd|masthead|banner|topper|logo|brand|hdr|site|tou|toubu", HEADER),
    ("footer|foot|ft|bottom|colophon|dibu|weibu|footnav|ftr", FOOTER),
    (
        "sidebar|side|aside|sider|rightbar|leftbar|rail|rightcol|leftcol|rightside|leftside|sidenav|right|left|secondary|complementary|sticky",
        SIDE,
    ),
    (
        "comment|comments|commentlist|disqus|respond|reply|replies|pinglun|discussion|cmt|cmts|commenting|livefyre|commentary|trackback|trackbacks|pingback|feedback|liuyan",
        COMMENT,
    ),
    (
        "related|recommend|recommended|recommendation|recommendations|recirc|recirculation|more|popular|trending|outbrain|taboola|suggest|suggested|similar|latest|hot|rank|ranking|tuijian|xiangguan|morelink|readmore|readnext|upnext|next|also|zergnet|hotnews|relate|relation|mostread|recent|paihang|relatedposts|teaser|teasers|promos|relnews|guess",
        RELATED,
    ),
    (
        "share|sharing|social|sns|bdshare|fenxiang|addthis|addtoany|sharedaddy|facebook|twitter|weibo|weixin|wechat|qrcode|erweima|like|likes|shareaholic|jiathis|follow|instagram|youtube|linkedin|pinterest|whatsapp|saoma",
        SHARE,
    ),
    (
        "ad|ads|adv|advert|adverts|advertisement|advertising|sponsor|sponsored|adsense|dfp|gg|guanggao|adbox|adslot|adsbygoogle|banner|adwrap|promoted|partner|partners|affiliate|advertise|leaderboard|mpu",
        AD,
    ),
    (
        "meta|info|byline|date|time|timestamp|pubtime|publish|published|source|laiyuan|dateline|postmeta|postedon|entrymeta|details|metadata|pubinfo|updated|views|hits|stat|stats|editor|bianji|origin|attribution|byl|infos|articleinfo",
        META,
    ),
    (
        "cookie|cookies|consent|gdpr|modal|popup|overlay|lightbox|dialog|alert|notice|toast|warning|ccpa|onetrust|paywall|interstitial|tooltip|dropdown|flyout|popover|tanchuang|mask",
        POPUP,
    ),
    (
        "cookie|cookies|consent|gdpr|ccpa|onetrust|ot|cookiebot|didomi|usercentrics|cmp|truste|cookieconsent|cookielaw|cookiebar|cookiebanner|cookienotice",
        CONSENT,
    ),
    ("breadcrumb|breadcrumbs|crumb|crumbs|bread|location|position|weizhi|path|mianbaoxie|curpos", CRUMB),
    (
        "pager|pagination|pages|paging|pagenav|prevnext|prev|previous|fanye|fenye|pagebar|pagelist|pagenavi|postnav",
        PAGER,
    ),
    (
        "form|login|signin|signup|register|search|searchbox|searchbar|sousuo|denglu|input|field|poll|vote|quiz|survey|captcha|filter|filters|facets|sort|account|cart|basket|checkout",
        FORM,
    ),
    (
        "hidden|hide|invisible|sr|screen|visually|offscreen|visuallyhidden|noprint|displaynone|collapsed|accessibility|a11y|reader",
        HIDDEN,
    ),
    (
        "signature|sig|userinfo|user|avatar|profile|member|poster|postprofile|postauthor|authi|pls|userbox|karma|badge|badges|reputation|signatures|sign|username|rep|quan|medal|userdetails|usercard",
        USER,
    ),
    ("widget|widgets|module|box|panel|block|mod|plugin|addon|section|region|slot|gadget", WIDGET),
    (
        "caption|figcaption|figure|credit|credits|photo|image|img|picture|gallery|slideshow|carousel|slide|slider|thumb|thumbnail|video|player|media|tupian|pic",
        CAPTION,
    ),
    ("toc|contents|jumplist|toctitle|mulu|outline|anchors|index|treeview|tree", TOC),
    (
        "newsletter|subscribe|subscription|promo|promotion|cta|callout|signup|app|download|donate|optin|mailing|apps|membership|trial|premium|offer|offers|deal|deals|marketing|email|xiazai",
        PROMO,
    ),
    (
        "content|text|txt|body|copy|bd|cont|con|zhengwen|neirong|nr|nry|wz|richtext|rte|wysiwyg|prose|contenttext|contentbody|bodytext|bodycontent|mw|editor|trs|wenzhang|zw|neir|ueditor|rich|markdown|md|textcontent|zoom|endtext|viewbox|xl|para|paragraph|paragraphs|p",
        CONTENT,
    ),
    (
        "article|story|entry|articlebody|articlecontent|articletext|storybody|entrycontent|hentry|news|newstext|newscontent|blogpost|blog|postcontent|postbody|postentry|singlepost|artibody|arc|artical|art|wen|artcon|arttext|xinwen|detail|storytext|newsbody|view|read|reading|chapter|novel|single|documentation|docs|doc|wiki|parser|help|guide|faq|manual",
        ARTICLE,
    ),
    ("main|maincontent|primary|center|middle|centroid|core|page|pagecontent|zhu|zhuti|contentmain", MAIN),
    (
        "post|posts|message|messages|msg|postmessage|answer|question|thread|topic|floor|t|pcb|pct|postbit|postrow|messagetext|messagebody|forum|bbwrapper|postcell|usertext|cooked|louzhu|bbs|tie|tiezi|huifu",
        POST,
    ),
    ("title|headline|heading|h1|biaoti|subject|hed|kicker|subtitle|subheading|subhead", TITLE),
    (
        "summary|lead|lede|abstract|intro|introduction|dek|standfirst|excerpt|description|desc|zhaiyao|daodu|deck|overview|about|synopsis",
        SUMMARY,
    ),
    (
        "list|grid|card|cards|item|items|lists|tile|tiles|feed|stream|results|result|listing|listings|row|liebiao|catalog|archive|index|loop|products|gallery|newslist",
        LIST,
    ),
    (
        "author|authors|bio|biography|contributor|contributors|about|zuozhe|writer|staff|journalist|authorbox",
        AUTHOR,
    ),
    (
        "tag|tags|category|categories|keyword|keywords|label|labels|taglist|tagcloud|topics|cat|cats|biaoqian|guanjianci|taxonomy",
        TAGS,
    ),
    (
        "copyright|copyrights|license|disclaimer|legal|terms|privacy|banquan|imprint|statement|declare|shengming|correction|rights",
        COPYRIGHT,
    ),
    (
        "product|price|prices|buy|shop|sku|stock|rating|ratings|review|reviews|specs|spec|specification|specifications|feature|features|goods|shipping|delivery|variant|quantity",
        PRODUCT,
    ),
    (
        "code|highlight|syntax|snippet|pre|sourcecode|console|terminal|example|api|function|method|prism|hljs|codehilite",
        CODE,
    ),
];

/// Number of slots of the table, which is less than half full.
const SLOTS: usize = 2048;

/// `(hash, hints)`; a hash of 0 marks a free slot.
static TABLE: [(u32, Hints); SLOTS] = table();

const SEED: u32 = 0x811c_9dc5;

/// Adds one byte to an FNV-1a hash.
#[inline]
const fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

const fn hash_of(word: &str) -> u32 {
    let (mut hash, mut at) = (SEED, 0);
    while at < word.len() {
        hash = mix(hash, word.as_bytes()[at]);
        at += 1;
    }
    hash
}

/// Words after which the next word refers to the page's layout: `no-right`, `has-sidebar`.
const LAYOUT_WORDS: [u32; 5] =
    [hash_of("no"), hash_of("not"), hash_of("has"), hash_of("with"), hash_of("without")];

// The two words of `sourceCode`, which does not name a source.
const SOURCE_WORD: u32 = hash_of("source");
const CODE_WORD: u32 = hash_of("code");

const fn slot(hash: u32) -> usize {
    (hash ^ (hash >> 15)) as usize % SLOTS
}

const fn table() -> [(u32, Hints); SLOTS] {
    let mut table = [(0, 0); SLOTS];
    let mut group = 0;
    while group < WORDS.len() {
        let (words, hints) = WORDS[group];
        let words = words.as_bytes();
        let (mut hash, mut byte) = (SEED, 0);
        while byte <= words.len() {
            if byte == words.len() || words[byte] == b'|' {
                let mut at = slot(hash);
                while table[at].0 != 0 && table[at].0 != hash {
                    at = (at + 1) % SLOTS;
                }
                table[at] = (hash, table[at].1 | hints);
                hash = SEED;
            } else {
                hash = mix(hash, words[byte]);
            }
            byte += 1;
        }
        group += 1;
    }
    table
}

#[inline]
fn hints_of(hash: u32) -> Hints {
    let mut at = slot(hash);
    loop {
        let (found, hints) = TABLE[at];
        if found == hash {
            return hints;
        }
        if found == 0 {
            return 0;
        }
        at = (at + 1) % SLOTS;
    }
}

/// Returns the hints of all words in `names`, and mixes each word's hash into `signature`.
pub(in crate::extract) fn from_names(names: &[u8], signature: &mut u32) -> Hints {
    let mut hints = 0;
    let (mut hash, mut after_small) = (SEED, false);
    // The previous word of the same name, and the hints without it.
    let (mut before, mut without_it) = (SEED, 0);
    let mut end = |hash: &mut u32, ends_name: bool| {
        if *hash != SEED {
            if *hash == CODE_WORD && before == SOURCE_WORD {
                hints = without_it;
            }
            without_it = hints;
            if !LAYOUT_WORDS.contains(&before) {
                hints |= hints_of(*hash);
            }
            before = *hash;
            *signature = signature.rotate_left(5).wrapping_add(*hash).wrapping_mul(0x9e37_79b1);
            *hash = SEED;
        }
        if ends_name {
            before = SEED;
        }
    };
    for &byte in names {
        if byte.is_ascii_lowercase() {
            hash = mix(hash, byte);
            after_small = true;
        } else if byte.is_ascii_uppercase() {
            if after_small {
                end(&mut hash, false);
            }
            hash = mix(hash, byte | 0x20);
            after_small = false;
        } else {
            end(&mut hash, byte.is_ascii_whitespace());
            after_small = false;
        }
    }
    end(&mut hash, true);
    // An article about biscuits is in the category "cookies".
    if hints & (POST | ARTICLE | TAGS) != 0 {
        hints &= !CONSENT;
    }
    hints
}

/// Returns the hints of an element name.
pub(in crate::extract) fn from_tag(tag: Tag) -> Hints {
    match tag {
        Tag::Nav | Tag::Menu => NAV,
        Tag::Header => HEADER,
        Tag::Footer => FOOTER,
        Tag::Aside => SIDE,
        Tag::Dialog => POPUP,
        Tag::Form | Tag::Fieldset | Tag::Search => FORM,
        Tag::Figure | Tag::Figcaption | Tag::Caption => CAPTION,
        Tag::Address => META,
        Tag::Article => ARTICLE,
        Tag::Main => MAIN,
        _ => 0,
    }
}

/// Returns true if an element or its role is a dialog, which is stronger evidence than a class name.
pub(in crate::extract) fn is_dialog(tag: Tag, role: &[u8]) -> bool {
    tag == Tag::Dialog || matches!(role, b"dialog" | b"alertdialog")
}

/// Returns the hints of a `role` attribute.
pub(in crate::extract) fn from_role(role: &[u8]) -> Hints {
    match role {
        b"navigation" | b"menu" | b"menubar" | b"tablist" | b"menuitem" | b"tab" => NAV,
        b"banner" => HEADER,
        b"contentinfo" => FOOTER,
        b"complementary" => SIDE,
        b"dialog" | b"alertdialog" | b"alert" => POPUP,
        b"search" | b"form" => FORM,
        b"main" => MAIN,
        b"article" => ARTICLE,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(names: &str) -> Hints {
        from_names(names.as_bytes(), &mut 0)
    }

    #[test]
    fn names_are_split_at_punctuation_digits_and_capitals() {
        assert_eq!(hints("post-meta"), POST | META);
        assert_eq!(hints("PostMeta2"), POST | META);
        assert_eq!(hints("sidebar_1 wp-nothing"), SIDE);
        assert_eq!(hints("TRS_Editor"), CONTENT | META);
        assert_eq!(hints("onetrust-banner-sdk") & CONSENT, CONSENT);
        assert_eq!(hints("post category-cookies") & CONSENT, 0);
        assert_eq!(hints("sourceCode"), CODE);
        assert_eq!(hints("article source-code"), ARTICLE | CODE);
        assert_eq!(hints("source code"), META | CODE);
        assert_eq!(hints("has-sidebar no-right"), 0);
        assert_eq!(hints("no right"), SIDE);
        assert_eq!(hints("nonsense"), 0);
        assert_eq!(hints(""), 0);
    }

    #[test]
    fn similar_nodes_have_one_hash_whatever_their_numbers() {
        let signature = |names: &str| {
            let mut signature = 0;
            from_names(names.as_bytes(), &mut signature);
            signature
        };
        assert_eq!(signature("post-12 entry"), signature("post-977 entry"));
        assert_ne!(signature("post entry"), signature("entry post"));
    }
}
