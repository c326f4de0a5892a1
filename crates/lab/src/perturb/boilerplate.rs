//! Adds lines of navigation and footers around a text.

use leitong_base::random::Random;

/// Lines that pages have around their main text.
const BOILERPLATE: [&str; 16] = [
    "首页 > 新闻 > 正文",
    "登录 | 注册 | 设为首页 | 加入收藏",
    "字号：大 中 小  打印本页  关闭窗口",
    "分享到：微信 微博 空间",
    "上一篇：没有了  下一篇：返回列表",
    "相关阅读",
    "热门文章排行榜",
    "我要评论 已有 128 人参与",
    "版权声明：本网站内容仅代表作者个人观点，如有侵权请与我们联系，我们将在第一时间处理。",
    "关于我们 | 联系方式 | 广告服务 | 网站地图",
    "Copyright © 2026 All Rights Reserved",
    "沪公网安备 31010102000000 号",
    "Home / Blog / Article",
    "Subscribe to our newsletter",
    "Related posts",
    "扫描二维码，关注官方公众号，获取更多精彩内容。",
];

/// Returns `text` with `lines` lines around it, half of them before it.
pub(super) fn boilerplate(text: &str, lines: usize, random: &mut Random) -> String {
    let mut before = String::new();
    let mut after = String::new();
    for number in 0..lines {
        let side = if number % 2 == 0 { &mut before } else { &mut after };
        side.push_str(BOILERPLATE[random.below(BOILERPLATE.len())]);
        side.push('\n');
    }
    format!("{before}{text}\n{after}")
}
