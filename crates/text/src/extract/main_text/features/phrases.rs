//! Phrases of page boilerplate: "all rights reserved", "责任编辑", "read more", "扫一扫".
//!
//! In: a short block's source. Out: a set of [`Phrases`]. A phrase alone decides nothing; it is one of the features by
//! which a block is scored. Long blocks are not searched, because they are text whatever they mention. Cost: one pass
//! of an Aho-Corasick automaton over the short blocks of a page.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// A set of kinds of phrases, one bit each.
pub(in crate::extract) type Phrases = u32;

/// Number of kinds.
pub(in crate::extract) const KINDS: usize = LISTS.len();

/// Bytes of source above which a block is not searched.
pub(in crate::extract) const BYTES_MAX: usize = 400;

// The kinds that code refers to by name, as bit numbers in [`Phrases`].

/// Author and publisher of a text.
pub(in crate::extract) const CREDITS: u32 = 1;
/// Sharing.
pub(in crate::extract) const SHARE: u32 = 2;
/// Other pages.
pub(in crate::extract) const RELATED: u32 = 3;
/// Accounts and newsletters.
pub(in crate::extract) const ACCOUNT: u32 = 5;
/// Comments.
pub(in crate::extract) const COMMENT: u32 = 7;
/// Dates.
pub(in crate::extract) const DATE: u32 = 9;
/// Shops.
pub(in crate::extract) const SHOP: u32 = 11;

/// Phrases by kind, in lower case. Words of other alphabets lack a first letter that may be a capital. The index in
/// this list is the kind's bit.
const LISTS: [&str; 14] = [
    // Copyright.
    "©|&copy;|copyright|all rights reserved|版权|著作权|著作權|rights reserved|無断転載|저작권|tous droits|derechos reservados|alle rechte|icp|备案|公网安备|许可证|се права защищены|جميع الحقوق|حقوق النشر|무단전재|무단 전재|todos los derechos|tutti i diritti|todos os direitos|著作権|転載|tüm hakları|bản quyền",
    // Reprints, sources, authors and editors, mostly in Chinese.
    "转载|轉載|来源：|来源:|來源：|來源:|稿源|责任编辑|責任編輯|责编|编辑：|编辑:|编辑/|（编辑|(编辑|原标题|本文来源|作者：|作者:|文/|免责|声明|本报记者|本文系|原文链接|出处|撰文|校对|审核|记者：|来自：|供稿|сточник:|المصدر|fuente:|quelle:|출처|出典",
    // Sharing.
    "share|tweet|facebook|twitter|pinterest|linkedin|whatsapp|分享|微信|微博|扫一扫|二维码|朋友圈|收藏|点赞|email this|print this|qq空间|打印|字号|follow us|关注我们|facebook|telegram|reddit|оделиться|контакте|дноклассник|مشاركة|شارك|공유|페이스북|카카오|글자크기|글자 크기|인쇄|シェア|ツイート|ブックマーク|compart|partager|teilen|condivi|paylaş|chia sẻ|compárt",
    // Other pages.
    "related|read more|read also|more from|see also|also read|you may also|you might|recommended|trending|most popular|most read|相关阅读|相关新闻|相关文章|相关链接|推荐阅读|延伸阅读|热门|更多|猜你喜欢|阅读更多|查看更多|阅读全文|点击查看|top stories|latest news|up next|learn more|view all|see all|show more|load more|click here|精彩推荐|热点|排行|lire aussi|leggi anche|weiterlesen|mehr zum|関連|もっと|더보기|ver más|lee también|saiba mais|leia também|читайте|о теме|охожие|опулярное|одробнее|اقرأ|المزيد|ذات صلة|الأكثر|관련기사|관련 기사|많이 본|おすすめ|ランキング|人気記事|最新記事|新着|続きを読む|relacionad|más leíd|mais lidas|voir aussi|en savoir plus|plus lus|meistgelesen|ähnliche|correlat|ilgili haber|xem thêm",
    // Neighbours.
    "上一篇|下一篇|上一页|下一页|previous|next|上一章|下一章|返回|back to|« |» |‹|›|older|newer|回到顶部|尾页|共|目录|prev|редыдущ|ледующ|ернуться|السابق|التالي|이전글|다음글|이전 글|다음 글|목록|前の記事|次の記事|前へ|次へ|一覧へ|anterior|siguiente|précédent|suivant|zurück|nächste|vorherige|próximo",
    // Accounts and newsletters.
    "subscribe|newsletter|sign up|sign in|log in|login|register|登录|注册|订阅|关注|下载|download|join now|free trial|create account|my account|客户端|app store|google play|inbox|email address|your email|submit|password|abonnieren|suscríbete|iscriviti|s'abonner|会员|ойти|егистрация|одписаться|одпишитесь|تسجيل الدخول|اشترك|البريدية|로그인|회원가입|구독|ログイン|会員登録|新規登録|購読|メルマガ|inscrivez|inscription|connexion|anmelden|registrieren|iniciar sesión|regístrate|suscrib|accedi|registrati|cadastre|đăng nhập|giriş yap|üye ol",
    // Law and technology.
    "cookie|privacy|terms of|terms and|gdpr|consent|隐私|条款|javascript|your browser|浏览器|disclaimer|accessibility|datenschutz|impressum|confidentialité|flash player|disable|онфиденциальност|ользовательское соглашение|الخصوصية|개인정보|이용약관|청소년보호|利用規約|プライバシー|特定商取引|politique de|mentions légales|aviso legal|política de|nutzungsbedingungen",
    // Comments.
    "comment|reply|replies|评论|回复|发表|跟帖|留言|says:|posted by|反馈|网友|respond|commenting|report abuse|flag|upvote|vote|楼主|发帖|quote|引用|举报|permalink|answered|asked|注册时间|帖子|积分|joined:|posts:|kommentar|comentario|омментари|тветить|итировать|ообщени|арегистрирован|تعليق|ردود|댓글|답글|コメント|返信|comentar|responder|répondre|antworten|beiträge|commenti|rispondi|yorum",
    // Advertisement.
    "advertisement|sponsored|广告|廣告|advert|affiliate|推广|promoted|paid content|anzeige|publicidad|publicité|commission|continue reading|story continues|еклама|إعلان|광고|スポンサー|広告|pubblicità|patrocinad",
    // Dates.
    "january|february|march|april|june|july|august|september|october|november|december|jan |feb |mar |apr |jun |jul |aug |sep |oct |nov |dec |发布时间|发表于|时间：|时间:|published|updated|posted on|last modified| ago|小时前|分钟前|发布于|更新于|am et|pm et|min read|gmt|a.m.|p.m.|日期|-202|-201|-200|/202|/201|/200|年| января| февраля| марта| апреля| июня| июля| августа| сентября| октября| ноября| декабря|يناير|فبراير|مارس|أبريل|مايو|يونيو|يوليو|أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر|убликован|입력 |수정 2|등록일|작성일|投稿日|更新日|公開日| enero| febrero| marzo| abril| junio| julio| agosto| septiembre| octubre| noviembre| diciembre|janvier|février| avril| juin |juillet| août|septembre|octobre|novembre|décembre|januar|februar| märz| juni | juli |oktober|dezember|gennaio|febbraio| aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro| março|setembro|outubro|dezembro",
    // Breadcrumbs and site menus.
    "您的位置|当前位置|首页|您现在的位置|>>|&gt;|&raquo;|当前页|所在位置|正文|home|skip to|menu|网站地图|关于我们|联系我们|about us|contact us|help center|faq|careers|投稿|帮助中心|лавная|онтакты|арта сайта|الرئيسية|اتصل بنا|من نحن|ホーム|お問い合わせ|運営会社|サイトマップ|회사소개|고객센터|accueil|startseite|kontakt|contacto|contactez|chi siamo|trang chủ|ana sayfa|iletişim",
    // Shops.
    "add to cart|buy now|in stock|out of stock|加入购物车|立即购买|价格|￥|¥|包邮|shipping|$|£|€|price|checkout|wishlist|reviews|rating|sku|free delivery|quantity|add to|compare|в корзин|₽|장바구니|구매하기|カートに|在庫|税込|送料|ajouter au panier|al carrito|warenkorb|al carrello|السلة",
    // Contact.
    "tel|电话|地址|邮箱|phone|fax|e-mail|email|@|联系|热线|客服|qq|contact|http|www.|елефон|전화|팩스|이메일|هاتف|電話|teléfono|téléphone|telefon",
    // Captions and counts.
    "photo|image|getty|图片|图为|图源|摄|(ap)|reuters|图/|courtesy|screenshot|阅读|浏览|点击|views|人气|字数|credit|video|视频|watch|listen|figure|图：|图:|资料图|新华社|фото|사진|写真|صورة|foto|crédit",
];

static AUTOMATON: LazyLock<Option<(AhoCorasick, Vec<u8>)>> = LazyLock::new(|| {
    let phrases =
        || LISTS.iter().enumerate().flat_map(|(kind, list)| list.split('|').map(move |p| (p, kind as u8)));
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(phrases().map(|(phrase, _)| phrase))
        .ok()?;
    Some((automaton, phrases().map(|(_, kind)| kind).collect()))
});

/// Builds the table, which is otherwise built on first use.
pub(in crate::extract) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// Returns the kinds of phrases in `text`.
pub(in crate::extract) fn find(text: &[u8]) -> Phrases {
    let Some((automaton, kinds)) = AUTOMATON.as_ref() else { return 0 };
    automaton
        .find_overlapping_iter(text)
        .fold(0, |found, phrase| found | 1 << kinds[phrase.pattern().as_usize()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_any_case() {
        assert_eq!(find("ALL RIGHTS RESERVED".as_bytes()), 1);
        assert_eq!(find("（责任编辑：王）".as_bytes()), 1 << 1);
        assert_eq!(find("Ответить".as_bytes()), 1 << COMMENT);
        assert_eq!(find("多: 관련기사".as_bytes()), 1 << RELATED);
        assert_eq!(find("an ordinary sentence without any of them".as_bytes()), 0);
    }
}
