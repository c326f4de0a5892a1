#!/usr/bin/env python3
"""Make further pages to learn from: the output of common site programs, with text drawn from the evaluation sets.

usage: site_pages.py DATA OUT.jsonl.gz

Real sets hold few threads, answers, products and help pages, and nearly all in English. Each function below follows the
markup that one program is known to write; its text is gold; the program's additions (menus, user boxes, votes, prices of
other goods, tables of contents) is not. Every program writes English and Chinese pages, some also Russian, Arabic and
Korean ones with the invented words of variants.py; half of them have meaningless class names. DATA is the folder of the
evaluation sets. The same DATA gives the same pages.
"""
import gzip
import html as H
import json
import random
import sys

import made_pages
import variants

R = random.Random(11)
e = H.escape
EACH = 8


class Words:
    """Words that a program writes in the page's language."""

    def __init__(self, zh):
        self.zh = zh

    def __call__(self, english, chinese):
        return chinese if self.zh else english

    def paragraph(self):
        return R.choice(made_pages.ZH if self.zh else made_pages.EN)

    def paragraphs(self, low, high):
        return [self.paragraph() for _ in range(R.randint(low, high))]

    def title(self):
        text = self.paragraph()
        return text[:R.randint(8, 24)].strip("，。；：、 ") if self.zh else " ".join(text.split()[:R.randint(4, 10)])

    def name(self):
        return R.choice(made_pages.NZ if self.zh else made_pages.NE)

    def date(self):
        return made_pages.date(self.zh)

    def reply(self):
        return made_pages.rep(self.zh)

    def links(self, low, high):
        return [f'<a href="/{R.randint(1, 9999)}">{e(self.title())}</a>' for _ in range(R.randint(low, high))]


def p(texts):
    return "".join(f"<p>{e(text)}</p>" for text in texts)


def br(texts):
    return R.choice(["<br>", "<br /><br />", "<br>\n<br>"]).join(e(text) for text in texts)


def items(parts, tag="li", names=""):
    return "".join(f"<{tag}{names}>{part}</{tag}>" for part in parts)


def thread(w, low=2, high=12):
    """Returns the posts of a thread: author and texts, the first one longer."""
    return [(w.name(), w.paragraphs(1, 4))] + [(w.name(), w.reply()) for _ in range(R.randint(low, high))]


def gold_of(posts):
    return [text for _, texts in posts for text in texts]


def nodebb(w, title):
    posts = thread(w)
    rows = "".join(f'<li component="post" class="pt-4 {"self-post" if i else "topic-owner-post"}" data-index="{i}"><div class="d-flex gap-2 post-container"><a class="avatar" href="/user/{n}"><span>{n[0].upper()}</span></a><div class="post-container-parent"><div class="post-header"><a class="fw-bold" href="/user/{n}">{n}</a> <span>{w("wrote on", "写于")} <a class="timeago">{w.date()}</a></span><span class="text-muted">{w("last edited by", "最后由编辑")}</span></div><div class="content text-break" component="post/content" itemprop="text">{p(t)}</div><div class="post-footer"><a component="post/reply-count">{R.randint(1, 4)} {w("Replies Last reply", "条回复")}</a><a component="post/reply">{w("Reply", "回复")}</a> <a component="post/quote">{w("Quote", "引用")}</a> <span component="post/vote-count">{R.randint(0, 9)}</span></div></div></div></li>' for i, (n, t) in enumerate(posts))
    return f'<main id="panel"><div class="container"><ol class="breadcrumb"><li><a href="/">{w("Home", "主页")}</a></li><li><a href="/c">{w("General", "综合")}</a></li></ol><div class="topic"><h1 component="topic/title"><span>{e(title)}</span></h1><div class="topic-info">{len(posts)} {w("Posts", "帖子")} 5 {w("Posters", "发布者")} 1k {w("Views", "浏览")}</div><ul component="topic" class="posts timeline">{rows}</ul><div class="topic-main-buttons">{w("Log in to reply", "登录后回复")}</div></div><div class="suggested-topics"><h5>{w("Suggested Topics", "推荐主题")}</h5><ul>{items(w.links(3, 7))}</ul></div></div></main>', gold_of(posts)


def smf(w, title):
    posts = thread(w)
    rows = "".join(f'<div class="windowbg" id="msg{i}"><div class="post_wrapper"><div class="poster"><h4><a href="#">{n}</a></h4><ul class="user_info"><li class="membergroup">{w("Full Member", "正式会员")}</li><li class="postcount">{w("Posts", "帖子")}: {R.randint(2, 5000)}</li><li class="im_icons">{w("Logged", "已记录")}</li></ul></div><div class="postarea"><div class="keyinfo"><h5 id="subject_{i}"><a href="#msg{i}">Re: {e(title)}</a></h5><div class="smalltext">« <strong>{w("Reply", "回复")} #{i}</strong> {w.date()} »</div></div><div class="post"><div class="inner" id="msg_{i}">{br(t)}</div></div></div><div class="moderatorbar">{f"""<div class="signature">{e(made_pages.sig(w.zh))}</div>""" if R.random() < .4 else ""}<a>{w("Report to moderator", "举报")}</a></div></div></div>' for i, (n, t) in enumerate(posts))
    return f'<div id="wrapper"><div id="main_menu"><ul class="menu_nav">{items(w.links(3, 6))}</ul></div><div id="content_section"><div class="navigate_section"><ul>{items(w.links(2, 3))}</ul></div><div id="forumposts"><div class="cat_bar"><h3 class="catbg">{w("Topic", "主题")}: {e(title)} ({w("Read", "阅读")} {R.randint(9, 9999)} {w("times", "次")})</h3></div>{rows}</div><div class="pagesection">{w("Pages", "页")}: [1] <a href="#">2</a></div></div><div id="footer">SMF 2.1 © 2024, Simple Machines</div></div>', gold_of(posts)


def invision(w, title):
    posts = thread(w)
    rows = "".join(f'<article id="elComment_{i}" class="cPost ipsBox ipsComment"><aside class="ipsComment_author cAuthorPane"><h3 class="ipsType_sectionHead cAuthorPane_author"><a href="#">{n}</a></h3><ul class="cAuthorPane_info"><li>{w("Members", "会员")}</li><li>{R.randint(1, 900)} {w("posts", "帖子")}</li></ul></aside><div class="ipsColumn_fluid"><div class="ipsComment_meta"><a href="#">{w("Posted", "发表于")} <time>{w.date()}</time></a><ul><li><a>{w("Share", "分享")}</a></li></ul></div><div class="cPost_contentWrap"><div data-role="commentContent" class="ipsType_normal ipsType_richText">{p(t)}</div><div class="ipsItemControls"><a>{w("Quote", "引用")}</a></div></div></div></article>' for i, (n, t) in enumerate(posts))
    return f'<main id="ipsLayout_body"><nav class="ipsBreadcrumb"><ul>{items(w.links(2, 4))}</ul></nav><div class="ipsPageHeader"><h1 class="ipsType_pageTitle"><span>{e(title)}</span></h1><p>{w("By", "作者")} <a>{posts[0][0]}</a>, {w.date()}</p><a>{w("Followers", "关注者")} 3</a></div><div class="cTopic ipsClear"><h2>{len(posts)} {w("posts in this topic", "个回帖")}</h2><div id="elPostFeed">{rows}</div></div><div class="ipsBox"><p>{w("You need to be a member in order to leave a comment", "您需要登录才能发表评论")}</p></div><aside class="ipsWidget"><h3>{w("Recently Browsing", "最近浏览")}</h3><p>{w("No registered users viewing this page.", "没有会员在看此页。")}</p></aside></main>', gold_of(posts)


def stackexchange(w, title):
    question, answers = w.paragraphs(2, 4), [w.paragraphs(1, 4) for _ in range(R.randint(1, 5))]
    code = "for item in list:\n    print(item)" if R.random() < .5 else ""
    gold = question + ([code] if code else [])
    body = p(question) + (f"<pre class='lang-py s-code-block'><code>{code}</code></pre>" if code else "")
    user = lambda: f'<div class="post-signature"><div class="user-info"><div class="user-action-time">{w("asked", "提问于")} <span class="relativetime">{w.date()}</span></div><div class="user-details"><a href="/u">{w.name()}</a><div class="-flair"><span class="reputation-score">{R.randint(1, 90)},{R.randint(100, 999)}</span><span>{R.randint(1, 30)}</span></div></div></div></div>'
    menu = f'<div class="js-post-menu"><a>{w("Share", "分享")}</a><a>{w("Improve this question", "改进")}</a><button>{w("Follow", "关注")}</button></div>'
    rows = ""
    for answer in answers:
        gold += answer
        rows += f'<div class="answer js-answer" id="answer-{R.randint(1, 99999)}"><div class="post-layout"><div class="votecell"><div class="js-vote-count">{R.randint(0, 99)}</div></div><div class="answercell"><div class="s-prose js-post-body">{p(answer)}</div>{menu}{user()}</div></div></div>'
    return f'<div class="container"><div class="left-sidebar"><nav><ol>{items(w.links(3, 6))}</ol></nav></div><div id="content" class="snippet-hidden"><div class="inner-content"><div id="question-header"><h1 itemprop="name"><a class="question-hyperlink">{e(title)}</a></h1><a>{w("Ask Question", "提问")}</a></div><div>{w("Asked", "提问")} 3 {w("years ago", "年前")} {w("Viewed", "浏览")} 12k {w("times", "次")}</div><div id="mainbar"><div class="question" id="question"><div class="post-layout"><div class="votecell"><div class="js-vote-count">{R.randint(0, 99)}</div></div><div class="postcell"><div class="s-prose js-post-body" itemprop="text">{body}</div><ul class="js-post-tag-list-item">{items(["python", "list"])}</ul>{menu}{user()}</div></div></div><div id="answers"><h2>{len(answers)} {w("Answers", "个回答")}</h2>{rows}</div></div><div id="sidebar"><h4>{w("Linked", "相关链接")}</h4>{"".join(w.links(3, 6))}<h4>{w("Hot Network Questions", "热门问题")}</h4><ul>{items(w.links(5, 12))}</ul></div></div></div></div>', gold


def hackernews(w, title):
    posts = thread(w, 4, 20)
    rows = "".join(f'<tr class="athing comtr" id="{i}"><td><table><tr><td class="ind"><img width="{40 * R.randint(0, 3)}"></td><td class="votelinks"><a href="v"><div class="votearrow"></div></a></td><td class="default"><div><span class="comhead"><a class="hnuser">{n}</a> <span class="age"><a>{R.randint(1, 20)} {w("hours ago", "小时前")}</a></span> | <a>{w("next", "下一条")}</a> [–]</span></div><br><div class="comment"><div class="commtext c00">{"<p>".join(e(x) for x in t)}</div><div class="reply"><p><font size="1"><u><a>{w("reply", "回复")}</a></u></font></div></div></td></tr></table></td></tr>' for i, (n, t) in enumerate(posts))
    return f'<center><table id="hnmain"><tr><td bgcolor="#ff6600"><table><tr><td><span class="pagetop"><b><a href="news">News</a></b> {" | ".join(w.links(3, 6))}</span></td></tr></table></td></tr><tr><td><table class="fatitem"><tr class="athing"><td class="title"><span class="titleline"><a href="https://example.test/">{e(title)}</a></span></td></tr><tr><td class="subtext">{R.randint(9, 900)} points by <a>{w.name()}</a> | <a>{len(posts)} comments</a></td></tr></table><br><table class="comment-tree">{rows}</table></td></tr></table></center>', gold_of(posts)


def v2ex(w, title):
    posts = thread(w)
    rows = "".join(f'<div id="r_{i}" class="cell"><table><tr><td><img class="avatar"></td><td><div class="fr"><a>{w("Hide", "隐藏")}</a> <span class="no">{i}</span></div><strong><a class="dark">{n}</a></strong> <span class="ago">{w.date()}</span><div class="sep5"></div><div class="reply_content">{br(t)}</div></td></tr></table></div>' for i, (n, t) in enumerate(posts) if i)
    return f'<div id="Top"><div class="content">{"".join(w.links(3, 5))}</div></div><div id="Wrapper"><div id="Rightbar"><div class="box"><div class="cell">{w("Now", "现在注册")}</div></div></div><div id="Main"><div class="box"><div class="header"><a href="/">V2</a> › <a href="/go">{w("Share", "分享发现")}</a><h1>{e(title)}</h1><small class="gray"><a>{posts[0][0]}</a> · {w.date()} · {R.randint(9, 9999)} {w("views", "次点击")}</small></div><div class="cell"><div class="topic_content"><div class="markdown_body">{p(posts[0][1])}</div></div></div><div class="topic_buttons"><a>{w("Add to favourites", "加入收藏")}</a></div></div><div class="box"><div class="cell"><span class="gray">{len(posts) - 1} {w("replies", "条回复")}</span></div>{rows}</div></div></div>', gold_of(posts)


def zhihu(w, title):
    question, answers = w.paragraphs(1, 2), [w.paragraphs(2, 7) for _ in range(R.randint(1, 5))]
    rows = "".join(f'<div class="List-item"><div class="ContentItem AnswerItem"><div class="ContentItem-meta"><div class="AuthorInfo"><span class="UserLink AuthorInfo-name"><a>{w.name()}</a></span><div class="AuthorInfo-badgeText">{w("Engineer", "互联网从业者")}</div></div><span class="Voters">{R.randint(2, 999)} {w("people agree", "人赞同了该回答")}</span></div><div class="RichContent"><div class="RichContent-inner"><span class="RichText ztext CopyrightRichText-richText">{p(t)}</span></div><div class="ContentItem-time">{w("Posted", "发布于")} {w.date()}</div><div class="ContentItem-actions"><button>{w("Agree", "赞同")} {R.randint(2, 999)}</button><button>{R.randint(2, 99)} {w("comments", "条评论")}</button><button>{w("Share", "分享")}</button></div></div></div></div>' for t in answers)
    return f'<div class="QuestionPage"><div class="QuestionHeader"><div class="QuestionHeader-topics">{"".join(w.links(2, 4))}</div><h1 class="QuestionHeader-title">{e(title)}</h1><div class="QuestionRichText"><span class="RichText ztext">{br(question)}</span></div><button>{w("Follow question", "关注问题")}</button></div><div class="Question-main"><div class="Question-mainColumn"><div class="List-headerText">{len(answers)} {w("answers", "个回答")}</div>{rows}</div><div class="Question-sideColumn"><div class="Card"><div class="Card-headerText">{w("Related questions", "相关问题")}</div>{"".join(f"<div>{link}</div>" for link in w.links(3, 6))}</div></div></div></div>', question + [x for t in answers for x in t]


def mybb(w, title):
    posts = thread(w)
    rows = "".join(f'<div class="post" id="post_{i}"><div class="post_author"><strong><span class="largetext"><a>{n}</a></span></strong><br><span class="smalltext">{w("Junior Member", "初级会员")}<br></span><div class="author_statistics">{w("Posts", "主题")}: {R.randint(1, 900)}<br>{w("Threads", "帖子")}: {R.randint(1, 99)}<br>{w("Joined", "注册")}: {w.date()}</div></div><div class="post_content"><div class="post_head"><div class="float_right"><strong><a>#{i + 1}</a></strong></div><span class="post_date">{w.date()}</span></div><div class="post_body scaleimages" id="pid_{i}">{br(t)}</div></div><div class="post_controls"><a>{w("Find", "查找")}</a><a>{w("Reply", "回复")}</a></div></div>' for i, (n, t) in enumerate(posts))
    return f'<div id="container"><div id="header"><div id="panel">{w("Hello There, Guest!", "您好，游客！")} <a>{w("Login", "登录")}</a> <a>{w("Register", "注册")}</a></div></div><div id="content"><div class="navigation">{" › ".join(w.links(2, 4))}</div><table class="tborder"><tr><td class="thead"><strong>{e(title)}</strong></td></tr><tr><td id="posts_container"><div id="posts">{rows}</div></td></tr></table><div class="float_left">« <a>{w("Next Oldest", "上一主题")}</a> | <a>{w("Next Newest", "下一主题")}</a> »</div></div></div>', gold_of(posts)


def issue(w, title):
    posts = thread(w, 1, 8)
    rows = "".join(f'<div class="TimelineItem js-timeline-item"><div class="timeline-comment-group"><div class="timeline-comment"><div class="timeline-comment-header"><h3><strong><a class="author">{n}</a></strong> {w("commented", "评论于")} <relative-time>{w.date()}</relative-time></h3></div><div class="edit-comment-hide"><table><tbody><tr><td class="comment-body markdown-body js-comment-body">{p(t)}</td></tr></tbody></table></div><div class="comment-reactions">👍 {R.randint(1, 9)}</div></div></div></div>' for n, t in posts)
    return f'<header class="Header">{"".join(w.links(2, 5))}</header><main><div class="gh-header"><h1 class="gh-header-title"><bdi>{e(title)}</bdi> <span>#{R.randint(1, 9999)}</span></h1><div>{w("Open", "打开")} <a>{posts[0][0]}</a> {w("opened this issue", "提交")} · {len(posts)} {w("comments", "条评论")}</div></div><div class="js-discussion">{rows}</div><div class="Layout-sidebar"><div>{w("Assignees", "指派")}</div><p>{w("No one assigned", "无人")}</p><div>{w("Labels", "标签")}</div><a>bug</a></div><p>{w("Sign up for free to join this conversation.", "注册后可参与讨论。")}</p></main>', gold_of(posts)


def shop(w, title):
    """Returns a page of WooCommerce, Shopify or Magento."""
    description, features = w.paragraphs(1, 4), [w.title() for _ in range(R.randint(0, 6))]
    specs = [(w.title()[:12], f"{R.randint(1, 99)} cm") for _ in range(R.randint(0, 6))]
    kind = R.choice(["woocommerce", "shopify", "magento"])
    wrap, summary, text = {"woocommerce": ("product type-product", "summary entry-summary", "woocommerce-Tabs-panel woocommerce-Tabs-panel--description"), "shopify": ("product-section", "product__info-wrapper", "product__description rte"), "magento": ("column main", "product-info-main", "product attribute description")}[kind]
    table = f'<table class="shop_attributes">{"".join(f"<tr><th>{e(a)}</th><td>{b}</td></tr>" for a, b in specs)}</table>' if specs else ""
    card = lambda: f'<li class="product"><a href="/p"><img><h2 class="woocommerce-loop-product__title">{e(w.title())}</h2><span class="price">{w("$", "¥")}{R.randint(5, 900)}.00</span></a><a class="button">{w("Add to cart", "加入购物车")}</a></li>'
    return f'<div class="announcement-bar">{w("Free shipping on orders over $50", "满99元包邮")}</div><header><nav><ul>{items(w.links(4, 8))}</ul></nav><a>{w("Cart", "购物车")} (0)</a></header><main><div class="{wrap}"><nav class="woocommerce-breadcrumb">{" / ".join(w.links(2, 3))}</nav><div class="{summary}"><h1 class="product_title entry-title">{e(title)}</h1><p class="price">{w("$", "¥")}{R.randint(5, 900)}.00</p><form class="cart"><input type="number"><button>{w("Add to cart", "加入购物车")}</button></form><div class="product_meta">SKU: {R.randint(999, 99999)} {w("Category", "分类")}: <a>{e(w.title()[:8])}</a></div></div><div class="{text}"><h2>{w("Description", "商品介绍")}</h2>{p(description)}<ul>{items([e(f) for f in features])}</ul>{table}</div><section class="related products"><h2>{w("Related products", "猜你喜欢")}</h2><ul class="products">{"".join(card() for _ in range(R.randint(3, 8)))}</ul></section></div></main><footer><p>{w("Subscribe to our newsletter", "订阅我们的资讯")}</p></footer>', [title] + description + features + [f"{a} {b}" for a, b in specs]


def manual(w, title):
    """Returns a page of Sphinx, MkDocs or Docusaurus."""
    sections = [(w.title(), w.paragraphs(1, 3), R.random() < .4) for _ in range(R.randint(2, 6))]
    code = "./configure --prefix=/usr\nmake install"
    body = "".join(f'<section id="s{i}"><h2>{e(t)}<a class="headerlink" href="#s{i}">¶</a></h2>{p(ps)}' + (f'<div class="highlight-sh notranslate"><div class="highlight"><pre>{code}</pre></div></div>' if c else "") + "</section>" for i, (t, ps, c) in enumerate(sections))
    contents = "<ul>" + "".join(f'<li class="toctree-l1"><a href="#s{i}">{e(t)}</a></li>' for i, (t, _, _) in enumerate(sections)) + "</ul>"
    kind = R.choice(["sphinx", "mkdocs", "docusaurus"])
    main = {"sphinx": f'<nav class="wy-nav-side"><div class="wy-menu">{contents}<ul>{items(w.links(4, 15))}</ul></div></nav><section class="wy-nav-content-wrap"><div role="navigation"><ul class="wy-breadcrumbs">{items(w.links(1, 2))}</ul></div><div role="main" class="document"><div itemprop="articleBody"><h1>{e(title)}</h1>{body}</div></div><footer><a>{w("Previous", "上一页")}</a><a>{w("Next", "下一页")}</a><p>© Copyright 2024. {w("Built with Sphinx", "使用 Sphinx 构建")}</p></footer></section>',
            "mkdocs": f'<div class="md-container"><main class="md-main"><div class="md-sidebar md-sidebar--primary"><nav class="md-nav"><ul>{items(w.links(4, 15))}</ul></nav></div><div class="md-sidebar md-sidebar--secondary"><nav class="md-nav"><label>{w("Table of contents", "目录")}</label>{contents}</nav></div><div class="md-content"><article class="md-content__inner md-typeset"><h1>{e(title)}</h1>{body}</article></div></main></div>',
            "docusaurus": f'<div class="main-wrapper"><aside class="theme-doc-sidebar-container"><ul class="menu__list">{items(w.links(4, 15))}</ul></aside><main class="docMainContainer"><div class="container"><article><nav class="theme-doc-breadcrumbs"><ul>{items(w.links(1, 3))}</ul></nav><div class="theme-doc-markdown markdown"><header><h1>{e(title)}</h1></header>{body}</div><footer class="theme-doc-footer"><a>{w("Edit this page", "编辑此页")}</a></footer></article><nav class="pagination-nav"><a>{w("Next", "下一页")} »</a></nav></div><div class="tableOfContents">{contents}</div></main></div>'}[kind]
    gold = [title] + [x for t, ps, c in sections for x in [t, *ps, *([code] if c else [])]]
    return f'<header class="navbar">{"".join(w.links(3, 6))}</header>{main}', gold


def portal(w, title):
    """Returns a news page of a portal: columns of links around a short article, as since the nineties."""
    text = w.paragraphs(2, 8)
    name, body = R.choice([("artibody", "article"), ("endText", "post_text"), ("rwb_zw", "text_con_left"), ("TRS_Editor", "view"), ("Cnt-Main-Article-QQ", "bd"), ("cont_1_1_2", "left_zw")])
    lines = p(text) if R.random() < .6 else "<br><br>".join(("　　" if w.zh else "") + e(x) for x in text)
    box = lambda head: f'<div class="box"><h3>{head}</h3><ul>{items(w.links(4, 9))}</ul></div>'
    return f'<div class="top"><ul>{items(w.links(5, 12))}</ul></div><div class="path">{w("You are here", "您的位置")}: {" &gt; ".join(w.links(2, 3))} &gt; {w("Text", "正文")}</div><div class="main"><div class="left {body}"><h1>{e(title)}</h1><div class="info">{w.date()} {w("Source", "来源")}：{w("Morning Paper", "晨报")} {w("Author", "作者")}：{w.name()} <a>{w("Comments", "评论")}(12)</a> {w("Font size", "字号")}：<a>T</a>|<a>T</a></div><div id="{name}">{lines}</div><div class="editor">({w("Editor", "责任编辑")}：{w.name()})</div><div class="share">{w("Share to", "分享到")}：<a>QQ</a><a>{w("Mail", "微信")}</a></div>{box(w("Related news", "相关新闻"))}<div class="comment"><p>{e(w.reply()[0])}</p><p>{e(w.reply()[0])}</p></div></div><div class="right">{box(w("Most read", "热门排行"))}{box(w("Pictures", "图片新闻"))}</div></div><div class="foot"><p>{w("About us", "关于我们")} | {w("Contact", "联系我们")}</p><p>Copyright © 1998-2024 {w("All rights reserved", "版权所有 未经授权禁止转载")}</p></div>', text


def weblog(w, title):
    """Returns a page of CSDN, cnblogs, WordPress or Hexo."""
    text, comments = w.paragraphs(3, 9), [w.reply() for _ in range(R.randint(0, 6))]
    wrap, body = R.choice([("blog-content-box", "htmledit_views"), ("post", "blogpost-body"), ("post hentry", "entry-content"), ("post-block", "post-body"), ("note", "show-content")])
    rows = "".join(f'<li class="comment"><div class="comment-author"><cite>{w.name()}</cite> {w("says", "说")}：</div><div class="comment-meta">{w.date()}</div>{p(c)}</li>' for c in comments)
    return f'<div id="header"><h2><a href="/">{w("A weblog", "某某的博客")}</a></h2><ul>{items(w.links(3, 5))}</ul></div><div id="main"><div class="{wrap}"><h1 class="post-title">{e(title)}</h1><div class="post-meta">{w("Posted on", "发表于")} {w.date()} | {w("Category", "分类于")} <a>Linux</a> | {w("Views", "阅读数")} {R.randint(9, 9999)}</div><div class="{body}">{p(text)}</div><div class="post-copyright"><p>{w("Unless stated otherwise, all posts are licensed under CC BY-NC-SA.", "版权声明：本文为博主原创文章，转载请注明出处。")}</p></div><div class="post-nav"><a>« {e(w.title())}</a> <a>{e(w.title())} »</a></div></div><div id="comments"><h3>{len(comments)} {w("comments", "条评论")}</h3><ol>{rows}</ol><form><p>{w("Your email address will not be published.", "电子邮件地址不会被公开。")}</p><textarea></textarea></form></div></div><div id="sidebar"><h3>{w("Recent posts", "最新文章")}</h3><ul>{items(w.links(4, 9))}</ul><h3>{w("Archives", "归档")}</h3><ul>{items(["2023", "2024"])}</ul></div><div id="footer">{w("Powered by WordPress", "由 WordPress 驱动")}</div>', text


MAKERS = [nodebb, smf, invision, stackexchange, hackernews, v2ex, zhihu, mybb, issue, shop, manual, portal, weblog]


def pages():
    for maker in MAKERS:
        for number in range(EACH):
            w = Words(zh=number % 2 == 0)
            title = w.title()
            body, gold = maker(w, title)
            lang = "zh" if w.zh else "en"
            head = f'<meta name="description" content="{e(gold[0][:90], quote=True)}">' if R.random() < .4 else ""
            page = dict(id=f"site-{maker.__name__}-{number}", url="", lang=lang, kind=maker.__name__, gold_text="\n".join(gold),
                        html=f"<!DOCTYPE html><html><head><title>{e(title)} - {w('The Site', '某站')}</title>{head}</head><body>{body}</body></html>")
            yield page
            if number % 4 != 2:
                other = None if w.zh else R.choice(["ru", "ar", "ko"])
                yield variants.vary(page, other, random.Random(variants.number(page["id"])))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    made_pages.read_paragraphs(sys.argv[1])
    with gzip.open(sys.argv[2], "wt", encoding="utf-8") as out:
        for made in pages():
            out.write(json.dumps(made, ensure_ascii=False) + "\n")
