//! Generates Chinese text.

use serde_json::json;

/// Returns Chinese text of about `sentences` sentences, different for each `topic`.
pub(crate) fn article(topic: usize, sentences: usize) -> String {
    const SUBJECTS: [&str; 11] = [
        "编辑部",
        "老船长",
        "邻居",
        "图书管理员",
        "气象站",
        "厨师",
        "登山队",
        "修表匠",
        "村长",
        "天文台",
        "球队",
    ];
    const VERBS: [&str; 13] = [
        "整理", "寻找", "记录", "讨论", "修理", "比较", "收集", "描述", "翻译", "测量", "搬运", "推迟",
        "庆祝",
    ];
    const OBJECTS: [&str; 17] = [
        "旧地图",
        "昨天的晚饭",
        "铁路时刻表",
        "一封长信",
        "河边的柳树",
        "新的望远镜",
        "三只猫",
        "秋天的收成",
        "港口的灯塔",
        "坏掉的收音机",
        "古代的星图",
        "一本菜谱",
        "山路上的标志",
        "冬季的计划",
        "孩子们的画",
        "半夜的雨声",
        "渡船的票价",
    ];
    let mut state = topic as u64 + 1;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    (0..sentences)
        .map(|_| format!("{}{}了{}。", SUBJECTS[next(11)], VERBS[next(13)], OBJECTS[next(17)]))
        .collect()
}

/// Returns pages, one JSON object a line: twelve different articles, each followed by a copy with a sentence removed.
pub(crate) fn articles_and_copies(labelled: bool) -> String {
    let mut lines = String::new();
    for topic in 0..12 {
        let text = article(topic, 40);
        let cut = text
            .char_indices()
            .filter(|(_, c)| *c == '。')
            .nth(topic % 5)
            .map_or(0, |(at, _)| at + '。'.len_utf8());
        for (kind, text) in [("new", text.as_str()), ("dup", &text[cut..])] {
            // Three of the short sentences make a longer one, and nine a paragraph.
            let mut sentences = 0;
            let text: String = text
                .chars()
                .flat_map(|c| {
                    sentences += usize::from(c == '。');
                    match c {
                        '。' if sentences % 9 == 0 => vec!['。', '\n'],
                        '。' if sentences % 3 != 0 => vec!['，'],
                        c => vec![c],
                    }
                })
                .collect();
            let mut page = json!({ "id": format!("{topic}-{kind}"), "url": format!("https://eval.test/{topic}/{kind}"), "text": text });
            if labelled {
                page["cluster"] = json!(topic.to_string());
                page["label"] = json!(kind);
            }
            lines.push_str(&format!("{page}\n"));
        }
    }
    lines
}
