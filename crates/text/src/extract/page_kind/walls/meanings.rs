//! Recognises sentences of walls by their meaning, in any words: "you are in a country where we do not offer this".
//!
//! In: a text in lower case. Out: the sentences that combine all *meanings* of a kind of wall, each expressed by any of
//! its words: a place, a refusal, and the visitor or the thing requested. Phrases ([`super::phrases`]) find walls with
//! known wordings; there are more wordings than can be listed. A sentence with only two of the meanings counts as part
//! of such a wall, but does not make the page one. Cost: one pass of an Aho-Corasick automaton, only on pages with
//! little text.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::extract::document::Wall;

/// A set of meanings, one bit each.
type Meanings = u32;

const PLACE: Meanings = 1;
const REFUSAL: Meanings = 1 << 1;
const YOU: Meanings = 1 << 2;
const ASKED: Meanings = 1 << 3;
const DATA: Meanings = 1 << 4;
const CHOICE: Meanings = 1 << 5;
const GO_ON: Meanings = 1 << 6;
const AGE: Meanings = 1 << 7;
const ENTER: Meanings = 1 << 8;
const ACCOUNT: Meanings = 1 << 9;
const READING: Meanings = 1 << 10;
const ONLY: Meanings = 1 << 11;
const MACHINE: Meanings = 1 << 12;
const CHECK: Meanings = 1 << 13;
const SCRIPTS: Meanings = 1 << 14;
const SWITCH: Meanings = 1 << 15;

/// Words of each meaning, in lower case, separated by `|`. They may be beginnings of words.
const WORDS: [(Meanings, &str); 16] = [
    (
        PLACE,
        "country|countries|region|territor|jurisdiction|location|geograph|european union|european economic area|europe|in the eu |the eu and|eea|united states|united kingdom|abroad|outside of|outside the|where you are|where you live|from where|inside the|elsewhere|residents of|people who live|located in|ip address|land |ländern|deutschland|österreich|schweiz|standort|region|wohnsitz|ausland|außerhalb|pays|zone géographique|territoire|étranger|résidant|localisation|país|paises|países|españa|ubicación|región|territorio|extranjero|localização|brasil|portugal|fora do|território|paese|italia|estero|posizione|страны|стране|странах|регион|россии|пределами|территори|海外|国外|國外|境外|地区|地區|区域|區域|国家|國家|内地|內地|大陆|大陸|台灣|ip地址|国内|日本|地域|接続元|국내|국가|지역|해외|nederland|het buitenland|jouw land|uw land|kraju|kraj |polsce|regionie|ülke|bölge|بلدك|منطقتك|quốc gia|khu vực",
    ),
    (
        REFUSAL,
        "not available|unavailable|isn't available|not been made available|cannot|can't|can not|could not|unable|not able|not open|not allowed|not permitted|not authori|may not|do not offer|don't offer|not offer|no longer|only be|only in|only to|only for|only by|residents only|only available|blocked|restrict|closed|denied|declined|prohibited|do not have access|don't have access|not have access|not made this|not among|suspended|stop serving|stopped serving|hasn't launched|not launched|not part of|don't ship|limited the|not serve|nicht|leider|gesperrt|nur innerhalb|nur in|nur für|ausschließlich|verweigert|ne peut pas|ne peuvent pas|ne sont pas|n'est pas|n'êtes pas|pas disponible|pas proposé|réservé|uniquement|interdit|indisponible|bloqué|no está|no se ofrecen|no se puede|no puede|no podemos|solo puede|sólo|solo para|restringid|bloquead|não está|não pode|não é|somente|apenas|indisponível|restrito|non è|non può|non puoi|soltanto|solo dal|solo in|bloccat|недоступ|запрещ|запретил|невозмож|ограничен|только|не может|не поддерж|不支持|无法|無法|不能|不可|不在|暂时|限制|仅限|僅限|禁止|ご利用になれません|いただけません|ご覧になれません|できません|のみ|制限|対象外|제공되지|없습니다|에서만|제한|차단|niet|alleen|helaas|geblokkeerd|nie może|nie jest|niedostępn|tylko|kullanılamıyor|izlenemez|erişilemez|غير متاح|غير متوفر|không khả dụng|không thể",
    ),
    (
        YOU,
        "you |your|you're|visitor|viewers|readers|users |customers|players|connection|ihr|sie |dein|du |kunden|nutzer|vous|votre|vos |joueurs|tu |tus |usted|su |te |nos visitas|você|seu |sua |tuo |tua |vous|вы |вам|ваш|您|你|用户|用戶|お客様|あなた|접속|시청|귀하|je |jouw|uw |się znajdujesz|twoj|twoi|bạn|sizin|bulunduğunuz|لك",
    ),
    (
        ASKED,
        "this video|this programme|this program|this content|this site|this website|this page|this title|this film|this service|this product|this portal|this article|our site|our service|our website|our shop|our online|our games|our stations|the website|these pages|this location|programme can|products on|the content|content cannot|dieses video|diese sendung|diese seite|diese webseite|dieser inhalt|unser angebot|unsere dienste|ce programme|cette vidéo|ce contenu|ce site|nos services|cette page|este contenido|este video|este vídeo|esta web|esta página|nuestros servicios|este conteúdo|nosso serviço|este serviço|questo contenuto|questo video|questo sito|этого фильма|этот фильм|это видео|видео|контент|该片|本片|本影片|该视频|此视频|本服务|该内容|此内容|播放|観|この動画|このページ|このサイト|当サイト|この記事|当サービス|本サービス|このコンテンツ|視聴|이 영상|이 페이지|이 사이트|이 동영상|서비스|콘텐츠|deze video|deze inhoud|ten materiał|ta strona|bu içerik|bu video|هذا المحتوى|nội dung này|video này",
    ),
    (
        DATA,
        "cookie|tracking|tracker|your data|personal data|personalised ads|personalized ads|personalised advert|personalized advert|relevant ads|privacy|datenschutz|ihrer daten|ihre daten|werbetracking|traceurs|publicité|rastreo|dati personali|クッキー|プライバシー|个人信息|隐私|隱私|쿠키|개인정보|advertenties|ciasteczk|plików|données personnelles|datos personales|dados pessoais|персональных данных|您的数据|您的數據|个性化广告|with advertising|advertising cookies|your agreement|personenbezogen",
    ),
    (
        CHOICE,
        "agree|accept|allow|consent|permission|permit|refuse|reject|decline|okay to|your okay|zustimm|einwillig|einverstanden|akzept|ablehn|accept|accord|consent|préférences|refus|acept|rechaz|consentimiento|accett|rifiut|consenso|aceit|recus|согла|принима|отклон|同意|拒否|允许|允許|接受|拒绝|拒絕|동의|수락|거부|toestemming|akkoord|accepteer|weiger|zgod|akceptuj|kabul|reddet|قبول|موافق|đồng ý|chấp nhận|withdraw|let me choose|请选择|請選擇|your choices",
    ),
    (
        GO_ON,
        "to continue|continue|before you|before we|go on|go to the|read on|to open|to proceed|proceed|one step|keep reading|fortzufahren|fortfahren|weiter|bevor sie|poursuivre|continuer|avant de|lire gratuit|seguir|continuar|antes de|navega gratis|continuare|continua|prima di|prosseguir|продолж|прежде чем|继续|繼續|访问前|続け|続き|계속|verder|doorgaan|kontynuowa|devam|للمتابعة|tiếp tục|please|do you agree|with your agreement|with your consent|we need your|your choices|benötigen|bitte|veuillez|avec votre|请选择|請選擇|ください",
    ),
    (
        AGE,
        "legal age|drinking age|of age|age of majority|years of age|years old|18 years|21 years|18 or older|21 or older|18+|over 18|over 21|minors|adults|adult content|underage|volljährig|minderjährig|18 jahre|schon 18|über 18|âge légal|majeur|18 ans|mayor de edad|18 años|mayores de|maior de idade|18 anos|maggiorenne|18 anni|совершеннолет|18 лет|20歳|18歳|二十歳|十八歳|法定饮酒|法定年龄|18岁|18周岁|十八岁|18歲|十八歲|成年|成人内容|成人內容|19세|18세|청소년|성인|18 jaar|meerderjarig|18 lat|pełnoletn|18 yaş|18 tuổi|18 عام",
    ),
    (
        ENTER,
        "are you|must be|have to be|need to be|confirm|entering|enter |to enter|browse|visit|by entering|date of birth|bist du|sind sie|bestätig|geeignet|avez-vous|êtes-vous|confirm|entrer|eres |debes |tienes|visitar|entrar|tem mais|você|sei |devi |hai |confermi|вам |вы |подтверд|ですか|確認|ください|是否|请确认|请离开|進入|进入|勿|未满|未滿|이용할 수|인증|이상|ben je|bent u|masz |potwierd|mısın|bạn có|هل ",
    ),
    (
        ACCOUNT,
        "subscribe|subscription|subscriber|member|free account|your account|company account|sign in|log in|logged in|register|employees only|abonnent|abo |abo.|abonnement|einloggen|anmelden|registrier|abonné|abonnez|s'abonner|vous abonner|identifiez|connectez|compte|suscriptor|suscríb|suscripc|regístr|tu cuenta|inicia sesión|assinante|assine|cadastr|abbonati|abbonamento|accedi|registrati|подпис|войдите|авториз|会员|登录|注册|會員|登入|訂閱|订阅|ログイン|会員|登録|購読|로그인|회원|구독|abonnee|inloggen|abonneer|subskry|zaloguj|abone|giriş yap|đăng nhập|اشترك|تسجيل الدخول",
    ),
    (
        READING,
        "article|articles|to read|read this|reading|full story|full text|this area|this page|this section|get in|artikel|beitrag|inhalt|lesen|cet article|contenu|lire|la suite|contenido|leer|artículo|conteúdo|matéria|ler |articolo|contenuto|leggere|стать|материал|читать|本文|全文|内容|內容|阅读|閱讀|文章|記事|続き|コンテンツ|기사|콘텐츠|artykuł|lezen|içerik|bài viết|المقال|this content|get in|this story",
    ),
    (
        ONLY,
        "only|exclusive|reserved|already|to keep|keep reading|to continue|carry on|unlock|nur |exklusiv|bereits|weiterlesen|müssen|réservé|déjà|exclusi|ya eres|para leer|gratis|apenas|já é|somente|riservat|già |esclusiv|только|уже|чтобы|限定|专享|专属|后即可|开通|專屬|仅限|请先|お願い|有料|전용|만 |alleen|exclusief|al abonnee|tylko|sadece|chỉ |فقط|is needed|your limit|for free|a free account|free articles",
    ),
    (
        MACHINE,
        "robot|bot |bots|automated|automation|a script|captcha|human|real person|a person|too many requests|requests from|kein programm|roboter|mensch|automatisiert|un robot|humain|automatique|humano|automatiz|robô|umano|automatico|робот|автоматич|человек|机器人|機器人|自動化|真人|人机|ロボット|로봇|mens bent|człowiek|insan|روبوت|con người|自动化访问|自动访问|自动程序|自動アクセス",
    ),
    (
        CHECK,
        "verify|verification|make sure|be certain|be sure|prove|solve|slide|drag|noticed|detected|suspicious|unusual|wait a|slow down|lösen|bestätig|prüf|überprüf|vérifi|prouv|détect|verifi|demuestr|detect|comprob|confirme|dimostr|conferm|подтверд|проверк|докаж|обнаруж|检测|檢測|验证|驗證|校验|确认|確認|证明|点击图|拖动|検出|証明|확인|감지|인증|controle|bevestig|potwierdź|sprawdz|doğrula|xác minh|تحقق|完成校验|完成验证|security check",
    ),
    (
        SCRIPTS,
        "javascript|scripts are|browser is too old|browser is outdated|browser is out of date|browser is not supported|scripts",
    ),
    (
        SWITCH,
        "enable|turn on|turn it on|switched off|turned off|disabled|cannot run|too old|outdated|out of date|update it|upgrade|not supported|unsupported|aktivier|ausgeschaltet|veraltet|benötigt|activer|activez|n'exécute pas|désactivé|indispensable|obsolète|desactivad|habilit|attiva|disattivat|aggiorna|включ|отключ|устарел|обнов|启用|開啟|啟用|开启|禁用|过低|升级|有効|無効|활성화|사용 설정|inschakel|verouderd|włącz|etkinleştir|bật |تفعيل|is required|switch it on|switch on|switch javascript|activar|necesita",
    ),
];

/// The meanings that a sentence of each kind of wall combines: all of the first, and one of the second.
const SENTENCES: [(Wall, Meanings, Meanings); 6] = [
    (Wall::Region, PLACE | REFUSAL, YOU | ASKED),
    (Wall::Consent, DATA | CHOICE, GO_ON),
    (Wall::Consent, AGE | ENTER, !0),
    (Wall::Login, ACCOUNT | READING, ONLY),
    (Wall::Blocked, MACHINE | CHECK, !0),
    (Wall::Shell, SCRIPTS | SWITCH, !0),
];

static AUTOMATON: LazyLock<Option<(AhoCorasick, Vec<Meanings>)>> = LazyLock::new(|| {
    let words = || WORDS.iter().flat_map(|(meaning, list)| list.split('|').map(move |word| (word, *meaning)));
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(words().map(|(word, _)| word));
    Some((automaton.ok()?, words().map(|(_, meaning)| meaning).collect()))
});

/// Builds the table, which is otherwise built on first use.
pub(super) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// A sentence with meanings of a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) wall: Wall,
    /// True if the sentence has all meanings of the wall; otherwise it has two of them.
    pub(super) is_whole: bool,
    /// Byte offsets of its start and its end.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Maximum length of a sentence in bytes; longer ones say more than a wall has to say.
const SENTENCE_BYTES_MAX: usize = 420;

/// Finds the sentences of `text` that have meanings of a wall; `sentences` lists the bounds of all in order. A sentence
/// with quotation marks is never a region wall: news articles quote what sites tell their visitors.
pub(super) fn find(text: &str, sentences: &[(usize, usize)], found: &mut Vec<Sentence>) {
    let Some((automaton, meanings)) = AUTOMATON.as_ref() else { return };
    let mut words = automaton.find_overlapping_iter(text).peekable();
    for &(start, end) in sentences {
        let mut all = 0;
        // Words are in the order of their ends.
        while let Some(word) = words.next_if(|word| word.end() <= end) {
            if word.start() >= start && begins_word(text.as_bytes(), word.start()) {
                all |= meanings[word.pattern().as_usize()];
            }
        }
        if end - start > SENTENCE_BYTES_MAX {
            continue;
        }
        for (wall, every, one) in SENTENCES {
            let is_reported =
                wall == Wall::Region && text[start..end].contains(['“', '”', '"', '「', '«', '„']);
            let is_whole = all & every == every && all & one != 0 && !is_reported;
            let is_part = (all & (every | if one == !0 { 0 } else { one })).count_ones() >= 2;
            if is_whole || is_part {
                found.push(Sentence { wall, is_whole, start, end });
            }
        }
    }
}

/// Returns true if a word of ASCII letters does not begin within a longer word.
fn begins_word(text: &[u8], start: usize) -> bool {
    let goes_on = start.checked_sub(1).is_some_and(|at| text[at].is_ascii_alphanumeric());
    !(text[start].is_ascii_alphanumeric() && goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walls_of(text: &str) -> Vec<Wall> {
        let mut found = Vec::new();
        find(text, &[(0, text.len())], &mut found);
        found.into_iter().filter(|sentence| sentence.is_whole).map(|sentence| sentence.wall).collect()
    }

    #[test]
    fn all_meanings_of_a_wall_must_come_together() {
        assert_eq!(walls_of("you cannot watch this from where you are"), [Wall::Region]);
        assert_eq!(
            walls_of("diese sendung darf nur innerhalb von deutschland gezeigt werden, sagen sie"),
            [Wall::Region]
        );
        assert_eq!(walls_of("are you of legal age"), [Wall::Consent]);
        for other in ["the country is large", "you cannot watch this", "", "she lives in another country"] {
            assert_eq!(walls_of(other), [], "{other}");
        }
    }

    #[test]
    fn words_are_written_as_texts_are_normalised() {
        for (_, list) in WORDS {
            for word in list.split('|') {
                assert_eq!(word, word.to_lowercase(), "it would never be found");
                assert!(!word.trim().is_empty() && !word.contains('’'), "{word:?}");
            }
        }
    }
}
