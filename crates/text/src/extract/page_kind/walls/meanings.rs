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
const REQUESTS: Meanings = 1 << 16;
const TOO_MANY: Meanings = 1 << 17;
const WAIT: Meanings = 1 << 18;
const WORK: Meanings = 1 << 19;
const NOW: Meanings = 1 << 20;
const SITE: Meanings = 1 << 21;
const BROWSER: Meanings = 1 << 22;
const CHECKING: Meanings = 1 << 23;
const SAFE: Meanings = 1 << 24;
const PLEASE: Meanings = 1 << 25;
/// Tells how something works in general. A wall says what happens here and now.
const EXPLAINS: Meanings = 1 << 26;

/// Words of each meaning, in lower case, separated by `|`. They may be beginnings of words.
const WORDS: [(Meanings, &str); 27] = [
    (
        PLACE,
        "country|countries|region|territor|jurisdiction|location|geograph|european union|european economic area|europe|in the eu |the eu and|eea|united states|united kingdom|abroad|outside of|outside the|where you are|where you live|from where|inside the|elsewhere|residents of|people who live|located in|ip address|land |ländern|deutschland|österreich|schweiz|standort|region|wohnsitz|ausland|außerhalb|pays|zone géographique|territoire|étranger|résidant|localisation|país|paises|países|españa|ubicación|región|territorio|extranjero|localização|brasil|portugal|fora do|território|paese|italia|estero|posizione|страны|стране|странах|регион|россии|пределами|территори|海外|国外|國外|境外|地区|地區|区域|區域|国家|國家|内地|內地|大陆|大陸|台灣|ip地址|国内|日本|地域|接続元|국내|국가|지역|해외|nederland|het buitenland|jouw land|uw land|kraju|kraj |polsce|regionie|ülke|bölge|بلدك|منطقتك|quốc gia|khu vực|part of the world|your area|tu zona|su zona|votre zone|in ihrer gegend|境内|depuis la france|fora de|твоей стране|canada|australia|germany|france|spain|japan|china|somewhere else|belgique|suisse|suiza|méxico|argentina|brazil|国内から|台湾|香港|在住",
    ),
    (
        REFUSAL,
        "not available|unavailable|isn't available|not been made available|cannot|can't|can not|could not|unable|not able|not open|not allowed|not permitted|not authori|may not|do not offer|don't offer|not offer|no longer|only be|only in|only to|only for|only by|residents only|only available|blocked|restrict|closed|denied|declined|prohibited|do not have access|don't have access|not have access|not made this|not among|suspended|stop serving|stopped serving|hasn't launched|not launched|not part of|don't ship|limited the|not serve|nicht|leider|gesperrt|nur innerhalb|nur in|nur für|ausschließlich|verweigert|ne peut pas|ne peuvent pas|ne sont pas|n'est pas|n'êtes pas|pas disponible|pas proposé|réservé|uniquement|interdit|indisponible|bloqué|no está|no se ofrecen|no se puede|no puede|no podemos|solo puede|sólo|solo para|restringid|bloquead|não está|não pode|não é|somente|apenas|indisponível|restrito|non è|non può|non puoi|soltanto|solo dal|solo in|bloccat|недоступ|запрещ|запретил|невозмож|ограничен|только|не может|не поддерж|不支持|无法|無法|不能|不可|不在|暂时|限制|仅限|僅限|禁止|ご利用になれません|いただけません|ご覧になれません|できません|のみ|制限|対象外|제공되지|없습니다|에서만|제한|차단|niet|alleen|helaas|geblokkeerd|nie może|nie jest|niedostępn|tylko|kullanılamıyor|izlenemez|erişilemez|غير متاح|غير متوفر|không khả dụng|không thể|仅供|不向|不对|未对|不面向|尚未在|accessible que|visible que|disponible que|nicht verfügbar|darf nur|geo-restricted|geo-blocked|geoblocked|не предоставля|не транслир|視聴いただけ|対応しておりません|only show|only to fans|dürfen wir|nur zuschauern|solo se puede|sólo se puede|só pode|не показыва|только для|只限|不能收看|不可观看|のみ視聴|からのみ",
    ),
    (
        YOU,
        "you |your|you're|visitor|viewers|readers|users |customers|players|connection|ihr|sie |dein|kunden|nutzer|vous|votre|vos |joueurs|tu |tus |usted|su |te |nos visitas|você|seu |sua |tuo |tua |vous|вы |вам|ваш|您|你|用户|用戶|お客様|あなた|접속|시청|귀하|je |jouw|uw |się znajdujesz|twoj|twoi|bạn|sizin|bulunduğunuz|لك|fans |zuschauer|spectateurs|espectadores|usuarios|visitantes|посетител|зрител|观众|觀眾|読者|視聴者|du kannst|du bist|du hast|du dich|wenn du|dass du",
    ),
    (
        ASKED,
        "this video|this programme|this program|this content|this site|this website|this page|this title|this film|this service|this product|this portal|this article|our site|our service|our website|our shop|our online|our games|our stations|the website|these pages|this location|programme can|products on|the content|content cannot|dieses video|diese sendung|diese seite|diese webseite|dieser inhalt|unser angebot|unsere dienste|ce programme|cette vidéo|ce contenu|ce site|nos services|cette page|este contenido|este video|este vídeo|esta web|esta página|nuestros servicios|este conteúdo|nosso serviço|este serviço|questo contenuto|questo video|questo sito|этого фильма|этот фильм|это видео|видео|контент|该片|本片|本影片|该视频|此视频|本服务|该内容|此内容|播放|観|この動画|このページ|このサイト|当サイト|この記事|当サービス|本サービス|このコンテンツ|視聴|이 영상|이 페이지|이 사이트|이 동영상|서비스|콘텐츠|deze video|deze inhoud|ten materiał|ta strona|bu içerik|bu video|هذا المحتوى|nội dung này|video này|this stream|this clip|this match|this episode|cette émission|este partido|esta transmisión|esta transmissão|dieser stream|该节目|本节目|该影片|本站|эта трансляция|このエピソード|配信|this game|this show|this series|diese folge|dieses spiel|diese serie|cet épisode|cette série|ce match|este capítulo|esta serie|este jogo|este jogo|esta série|эта серия|этот матч|матч|该剧|この番組|本番組",
    ),
    (
        DATA,
        "cookie|tracking|tracker|your data|personal data|personalised ads|personalized ads|personalised advert|personalized advert|relevant ads|privacy|datenschutz|ihrer daten|ihre daten|werbetracking|traceurs|publicité|rastreo|dati personali|クッキー|プライバシー|个人信息|隐私|隱私|쿠키|개인정보|advertenties|ciasteczk|plików|données personnelles|datos personales|dados pessoais|персональных данных|您的数据|您的數據|个性化广告|with advertising|advertising cookies|your agreement|personenbezogen|on your device|auf ihrem gerät|auf deinem gerät|sur votre appareil|en su dispositivo|en tu dispositivo|no seu dispositivo|на вашем устройстве|端末に|traceur|rastreador|data about you|daten über sie|informations sur vous|datos sobre|dados sobre|данные о вас|閲覧履歴",
    ),
    (
        CHOICE,
        "agree|accept|allow|consent|permission|permit|refuse|reject|decline|okay to|your okay|zustimm|einwillig|einverstanden|akzept|ablehn|accept|accord|consent|préférences|refus|acept|rechaz|consentimiento|accett|rifiut|consenso|aceit|recus|согла|принима|отклон|同意|拒否|允许|允許|接受|拒绝|拒絕|동의|수락|거부|toestemming|akkoord|accepteer|weiger|zgod|akceptuj|kabul|reddet|قبول|موافق|đồng ý|chấp nhận|withdraw|let me choose|请选择|請選擇|your choices|would like to|say no|change your mind|möchten wir|souhaitons|souhaitent|quisiéramos|gostaríamos|хотели бы|お選びください|may we|dürfen wir|pouvons-nous|podemos|можно ли|acceptez|annehmen|permitir",
    ),
    (
        GO_ON,
        "to continue|continue|before you|before we|go on|go to the|read on|to open|to proceed|proceed|one step|keep reading|fortzufahren|fortfahren|weiter|bevor sie|poursuivre|continuer|avant de|lire gratuit|seguir|continuar|antes de|navega gratis|continuare|continua|prima di|prosseguir|продолж|прежде чем|继续|繼續|访问前|続け|続き|계속|verder|doorgaan|kontynuowa|devam|للمتابعة|tiếp tục|please|do you agree|with your agreement|with your consent|we need your|your choices|benötigen|bitte|veuillez|avec votre|请选择|請選擇|ください|to keep this site|would like your|we'd like your|vendors would like|partners would like|you can refuse|pour continuer|gratuitement|kostenlos|gratuitamente|бесплатно|pay for our",
    ),
    (
        AGE,
        "legal age|drinking age|of age|age of majority|years of age|years old|18 years|21 years|18 or older|21 or older|18+|over 18|over 21|minors|adults|adult content|underage|volljährig|minderjährig|18 jahre|schon 18|über 18|âge légal|majeur|18 ans|mayor de edad|18 años|mayores de|maior de idade|18 anos|maggiorenne|18 anni|совершеннолет|18 лет|20歳|18歳|二十歳|十八歳|法定饮酒|法定年龄|18岁|18周岁|十八岁|18歲|十八歲|成年|成人内容|成人內容|19세|18세|청소년|성인|18 jaar|meerderjarig|18 lat|pełnoletn|18 yaş|18 tuổi|18 عام|at least 18 to|at least 21 to|are 18 or over|are 21 or over|18 or over to enter|18 or over to view|21 or over to enter|over the age of 18|over the age of 21|mindestens 18|mindestens 16|au moins 18|al menos 18|pelo menos 18|не менее 18|старше 18|18歳以上|20歳以上|满18|滿18|eighteen|twenty-one|old enough|achtzehn|dix-huit|dieciocho|dezoito|восемнадцат|los 18|os 18|年满十八|年滿十八",
    ),
    (
        ENTER,
        "are you|must be|have to be|need to be|confirm|entering|enter |to enter|browse|visit|by entering|date of birth|bist du|sind sie|bestätig|geeignet|avez-vous|êtes-vous|confirm|entrer|eres |debes |tienes|visitar|entrar|tem mais|você|sei |devi |hai |confermi|вам |вы |подтверд|ですか|確認|ください|是否|请确认|请离开|進入|进入|勿|未满|未滿|이용할 수|인증|이상|ben je|bent u|masz |potwierd|mısın|bạn có|هل |look around|come in|pueden entrar|eintreten|zutritt|accéder|accès|acceder|podem entrar|cumplido",
    ),
    (
        ACCOUNT,
        "subscribe|subscription|subscriber|member|free account|your account|company account|sign in|log in|logged in|register|employees only|abonnent|abo |abo.|abonnement|einloggen|anmelden|registrier|abonné|abonnez|s'abonner|vous abonner|identifiez|connectez|compte|suscriptor|suscríb|suscripc|regístr|tu cuenta|inicia sesión|assinante|assine|cadastr|abbonati|abbonamento|accedi|registrati|подпис|войдите|авториз|会员|登录|注册|會員|登入|訂閱|订阅|ログイン|会員|登録|購読|로그인|회원|구독|abonnee|inloggen|abonneer|subskry|zaloguj|abone|giriş yap|đăng nhập|اشترك|تسجيل الدخول|zahlende leser|zahlende|paying readers|abonnenten|注册用户|付费用户|платн|зарегистрир|有料会員|assinatura|trial|socio|suscriptores|assinantes|premium|paywall|包月|购买|付费|購入|会費|probeabo|testen",
    ),
    (
        READING,
        "article|articles|to read|read this|reading|full story|full text|this area|this page|this section|get in|artikel|beitrag|inhalt|lesen|cet article|contenu|lire|la suite|contenido|leer|artículo|conteúdo|matéria|ler |articolo|contenuto|leggere|стать|материал|читать|本文|全文|内容|內容|阅读|閱讀|文章|記事|続き|コンテンツ|기사|콘텐츠|artykuł|lezen|içerik|bài viết|المقال|this content|get in|this story|unlimited access|acesso ilimitado|acceso ilimitado|accès illimité|dieser text|diesen text|vollständig|浏览|版块|查看|帖子|レシピ|to read more|reportaje|leerlo|reportagem|noticia|notícia|nachricht|meldung|weiterlesen|l'intégralité|полностью|全部内容|剩余|余下|残り|全文を",
    ),
    (
        ONLY,
        "only|exclusive|reserved|already|to keep|keep reading|to continue|carry on|unlock|nur |exklusiv|bereits|weiterlesen|müssen|réservé|déjà|exclusi|ya eres|para leer|gratis|apenas|já é|somente|riservat|già |esclusiv|только|уже|чтобы|限定|专享|专属|后即可|开通|專屬|仅限|请先|お願い|有料|전용|만 |alleen|exclusief|al abonnee|tylko|sadece|chỉ |فقط|is needed|your limit|for free|a free account|free articles|for subscribers|for members|for paying|unlimited|ilimitad|illimité|unbegrenzt|uneingeschränkt|仅对|仅向|付费|безлимит|読み放題|向けです|向けの|to read more|completo|en exclusiva|剩余|全部内容|需购买|才能|才可|残り|お読みいただく|полностью",
    ),
    (
        MACHINE,
        "robot|bot |bots|automated|automation|a script|captcha|human|real person|a person|too many requests|requests from|kein programm|roboter|mensch|automatisiert|un robot|humain|automatique|humano|automatiz|robô|umano|automatico|робот|автоматич|человек|机器人|機器人|自動化|真人|人机|ロボット|로봇|mens bent|człowiek|insan|روبوت|con người|自动化访问|自动访问|自动程序|自動アクセス|a program |un programme|ein programm|自動プログラム|自动脚本|real visitor|automatisiertes programm|personne réelle|une personne|una máquina|um programa|живой человек|来自程序|自动化程序",
    ),
    (
        CHECK,
        "verify|verification|make sure|be certain|be sure|prove|solve|slide|drag|noticed|detected|suspicious|unusual|wait a|slow down|lösen|bestätig|prüf|überprüf|vérifi|prouv|détect|verifi|demuestr|detect|comprob|confirme|dimostr|conferm|подтверд|проверк|докаж|обнаруж|检测|檢測|验证|驗證|校验|确认|確認|证明|点击图|拖动|検出|証明|확인|감지|인증|controle|bevestig|potwierdź|sprawdz|doğrula|xác minh|تحقق|完成校验|完成验证|security check|show us|tick the box|check the box|montrez|cochez|marque la casilla|marque a caixa|ankreuzen|kästchen|puzzle|challenge|complete the|résolvez|prouver|aufgabe|ausschließen|resuelve|resolva|desafio|решите|задани|依次点击|选出|選び|解いて",
    ),
    (
        SCRIPTS,
        "javascript|scripts are|browser is too old|browser is outdated|browser is out of date|browser is not supported|scripts",
    ),
    (
        SWITCH,
        "enable|turn on|turn it on|switched off|turned off|disabled|cannot run|too old|outdated|out of date|update it|upgrade|not supported|unsupported|aktivier|ausgeschaltet|veraltet|benötigt|activer|activez|n'exécute pas|désactivé|indispensable|obsolète|desactivad|habilit|attiva|disattivat|aggiorna|включ|отключ|устарел|обнов|启用|開啟|啟用|开启|禁用|过低|升级|有効|無効|활성화|사용 설정|inschakel|verouderd|włącz|etkinleştir|bật |تفعيل|is required|switch it on|switch on|switch javascript|activar|necesita",
    ),
    (
        REQUESTS,
        "requests|request limit|rate limit|queries|page views|visits from|操作|访问|訪問|请求|請求|刷新|anfragen|zugriffe|seitenaufrufe|aufrufe|requêtes|demandes|consultations|peticiones|solicitudes|consultas|accesos|visitas|requisições|pedidos|solicitações|acessos|запрос|обращени|просмотр|アクセス|リクエスト|요청|attempts|lookups|opening pages|loading pages|seiten aufgerufen|seiten geöffnet|abfragen|suchanfragen|nos pages|pages consultées|recherches|búsquedas|peticion|tentativas|buscas|número de acessos|заходите|заходов|попыт|閲覧|検索|새로고침|접속|刷新得",
    ),
    (
        TOO_MANY,
        "too many|too often|too fast|too quickly|more requests than|more pages than|faster than|limit exceeded|have exceeded|has exceeded|reached the limit|hit our|hit the|exceeded the|high number of|rate limit|过快|過快|太快|频繁|頻繁|频率|限流|上限|zu viele|zu schnell|zu oft|das limit|trop de|trop vite|trop rapidement|avez dépassé|demasiad|límite de|muitas|muitos|demais|limite de|excedeu|excedid|слишком много|слишком часто|превы|лимит|多すぎ|多数|短時間|連続|너무 많|limited number|only allow|allow only|faster than our|more than we allow|than allowed|maximum number|sehr viele|limit erreicht|limit überschritten|höchstzahl|begrenzt|trop rapide|nombre maximal|nombre autorisé|limite atteinte|demasiado rápido|límite alcanzado|número máximo|límite permitido|limite atingido|número máximo|ultrapass|acima do limite|muito rápido|очень много|очень часто|слишком быстро|исчерпа|太多次|次数已|超出|超过|超過|制限を超|回数|한도|초과|得太快|次数过多|请求过多",
    ),
    (
        WAIT,
        "wait|try again|retry|slow down|come back|reload|give it|restored|稍后|稍後|稍候|再试|再試|等待|休息|warten|versuchen sie|erneut|später|réessay|patient|espera|espere|inténtalo|inténtelo|intentarlo|más tarde|aguard|tente novamente|mais tarde|подожд|повтор|позже|попроб|お待ち|待って|再度|しばらく|一時的に|잠시|a break|refresh|a little later|moments|patientez|rechargez|un peu plus tard|warten sie|gedulden|otra vez|reintent|recarg|de nuevo|de novo|em instantes|instantes|обновите|через минуту|через несколько|过一会|过会|过几分钟|待ち|数分|나중에",
    ),
    (
        WORK,
        "maintenance|upgrad|update|updating|improvements|migrat|技术升级|维护|維護|升级|升級|检修|割接|wartung|gewartet|mise à jour|travaux|mantenimiento|labores de|tareas de|actualiza|manutenção|atualiza|техническ|обслуживани|профилакти|обновл|メンテナンス|保守|点検|점검|downtime|an upgrade|rebuild|moving to|repair|system work|相关工作|迁移|遷移|改版|整備|入れ替え|切り替え|作業|aktualisier|umbau|umgestell|umzug|améliorons|améliorer|évolu|migration|mejorando|mejoras|renovando|melhoria|melhorando|migração|работы|улучша|перенос|업데이트|작업|停机维护",
    ),
    (
        NOW,
        "right now|currently|at the moment|temporarily|be back|is offline|are offline|while we|is unavailable|are unavailable|is down|are down|bear with us|正在|暂停|暫停|暂时|暫時|期间无法|期间网站|gerade|derzeit|momentan|vorübergehend|zurzeit|nicht erreichbar|in kürze|momentanément|actuellement|temporairement|estamos|temporalmente|fuera de servicio|volveremos|temporariamente|fora do ar|ведутся|идут|временно|проводятся|проводим|ただいま|現在|停止して|停止いたし|一時|현재|down for|back online|again soon|for a while|under way|ist offline|nicht verfügbar|wieder online|wieder da|wieder erreichbar|kurze pause|est fermé|hors ligne|de nouveau ouvert|nous revenons|revenons|de retour|no está disponible|fuera de línea|en breve|volverá|indisponível|em breve|voltamos|voltaremos|будет доступен|через час|недоступен|недоступн|打不开|无法使用|利用いただけません|休止|停止中|再開|중단|중입니다|until about|обновляем|upgrading our|updating our|we are upgrading|we are updating|carrying out|обновляем наш|proximamente",
    ),
    (
        SITE,
        "we are|we're|our |this site|the site|website|this service|web site|server|portal|the catalogue|the shop|the service|本站|本网站|网站|伺服器|unsere|die seite|diese seite|webseite|onlineshop|unser shop|le site|notre|le service|la boutique|nuestr|el sitio|sitio web|página web|la página|la web|la tienda|el servicio|este sitio|nosso|nossa|o site|este site|сайт|сервис|портал|мы |当サイト|本サイト|システム|サービス|ホームページ|사이트|서비스|our website|our portal|our shop|our store|this shop|this portal|homepage|unser portal|unser angebot|unsere website|der shop|das portal|der dienst|notre site|notre boutique|le portail|el portal|nuestra tienda|nuestra web|a loja|o portal|nosso site|наш сайт|当店|本サービス|ページは|本平台|商城|서버|系统正在|系统将|系统升级|系統正在|对服务器|服务器正在|наш ресурс|наш магазин|服务器升级",
    ),
    (
        BROWSER,
        "your browser|your connection|your network|your device|your request|ihren browser|ihr browser|ihre verbindung|ihrem netzwerk|ihre anfrage|votre navigateur|votre connexion|votre réseau|tu navegador|su navegador|tu conexión|su conexión|seu navegador|sua conexão|sua rede|ваш браузер|вашего браузера|ваше соединение|вашей сети|お使いのブラウザ|ブラウザー|ご利用の環境|您的浏览器|你的浏览器|您的网络|您的連線|当前网络|your address|from your|ihre adresse|ihrem anschluss|votre adresse|depuis votre|desde tu|desde su|seu endereço|вашего адреса|вашего подключения|您的访问|您的网络环境|お客様の環境|お使いの回線",
    ),
    (
        CHECKING,
        "checking|making sure|we are verifying|verifying|we check|being checked|noticed|detected|have seen|have received|wir prüfen|wird geprüft|überprüfen wir|festgestellt|nous vérifions|vérifions|avons détecté|avons remarqué|estamos comprobando|estamos verificando|comprobando|hemos detectado|verificando|detectamos|проверяем|проверяется|обнаружил|замечен|確認して|検出し|検知し|正在检|正在確認|正在确认|正在核|检测到|檢測到|flagged|spotted|repéré|entdeckt|aufgefallen|detectado|detectada|identificamos|заметили|怀疑|懷疑|疑似|見つか",
    ),
    (
        SAFE,
        "before|moment|seconds|is safe|is secure|a burst|unusual|suspicious|geduld|sicher|sekunden|moment|bevor|ungewöhnlich|avant|secondes|inhabituel|antes de|segundos|inusual|seguro|segura|incomum|прежде|секунд|безопасн|необычн|подозрит|お待ち|不正|安全|风险|風險|异常|異常|稍候|几秒|odd |strange|aktivität|activité|actividad|atividade|активност",
    ),
    (
        PLEASE,
        "please|click|press|just |bitte|klicken|veuillez|cliquez|por favor|haga clic|haz clic|clique|пожалуйста|нажмите|クリック|请|請|클릭|주세요",
    ),
    (
        EXPLAINS,
        "status code indicates|code indicates that|code means|status means|servers send|server sends|is returned when|are returned when|should not be cached|clients should|a client has|retry-after header|the response may|responses should|statuscode|状态码表示|客户端应|le code indique|el código indica|o código indica|код означает|is a test that|is a type of|is a kind of|refers to|是一种|是指|bezeichnet|désigne|se refiere a|refere-se a|называ|とは、|this notice explains|this policy explains|this page explains|session cookie|deleted when you close|expire after|applicants must|candidates must|participants must|bewerber müssen|bewerber sollten|los candidatos|les candidats|应聘者|报名者|申请人须|応募者",
    ),
];

/// The meanings that a sentence of each kind of wall combines: all of the first, and one of the second.
const SENTENCES: [(Wall, Meanings, Meanings); 9] = [
    (Wall::Region, PLACE | REFUSAL, YOU | ASKED),
    (Wall::Consent, DATA | CHOICE, GO_ON),
    (Wall::Consent, AGE | ENTER, !0),
    (Wall::Login, ACCOUNT | READING, ONLY),
    (Wall::Blocked, MACHINE | CHECK, YOU | GO_ON | PLEASE | WAIT),
    (Wall::Blocked, REQUESTS | TOO_MANY, YOU | WAIT),
    (Wall::Blocked, BROWSER | CHECKING, SAFE),
    (Wall::Error, WORK | NOW, SITE),
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

/// Words before a condition that concerns the site: "if we cannot ship to your country".
const CONDITIONS: [&str; 5] = [" if we ", " wenn wir ", " si nous ", "如果我们", " если мы "];

/// Finds the sentences of `text` that have meanings of a wall; `sentences` lists the bounds of all in order. A sentence
/// with quotation marks, or with a condition, is never a region wall: news articles quote what sites tell their
/// visitors, and help pages say when it happens. Returns true if a sentence explains how such walls work.
pub(super) fn find(text: &str, sentences: &[(usize, usize)], found: &mut Vec<Sentence>) -> bool {
    let Some((automaton, meanings)) = AUTOMATON.as_ref() else { return false };
    let mut explains = false;
    let mut words = automaton.find_overlapping_iter(text).peekable();
    // Words are in the order of their ends.
    let mut next_of = |&(start, end): &(usize, usize)| {
        let mut all = 0;
        while let Some(word) = words.next_if(|word| word.end() <= end) {
            if word.start() >= start && begins_word(text.as_bytes(), word.start()) {
                all |= meanings[word.pattern().as_usize()];
            }
        }
        all
    };
    let mut bounds = sentences.iter();
    let mut next = bounds.next().map(|bounds| (*bounds, next_of(bounds)));
    while let Some(((start, end), all)) = next {
        next = bounds.next().map(|bounds| (*bounds, next_of(bounds)));
        explains |= all & EXPLAINS != 0;
        if end - start > SENTENCE_BYTES_MAX {
            continue;
        }
        for (wall, every, one) in SENTENCES {
            let is_reported = wall == Wall::Region
                && (text[start..end].contains(['“', '”', '"', '「', '«', '„'])
                    || CONDITIONS.iter().any(|condition| text[start..end].contains(condition)));
            // "Too many requests. Please wait a minute."
            let after = next.filter(|_| matches!(wall, Wall::Blocked)).map_or(0, |(_, after)| after);
            let is_whole = all & every == every && (all | after) & one != 0 && !is_reported;
            let is_part = (all & (every | if one == !0 { 0 } else { one })).count_ones() >= 2;
            if is_whole || is_part {
                found.push(Sentence { wall, is_whole, start, end });
            }
        }
    }
    explains
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
        let _ = find(text, &[(0, text.len())], &mut found);
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
