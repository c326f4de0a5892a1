#!/usr/bin/env python3
"""Make further pages to learn from: threads of common forum programs, and articles cut short.

usage: made_pages.py forums DATA OUT.jsonl.gz    threads with posts drawn from the gold texts and articles in DATA
       made_pages.py short DATA OUT.jsonl.gz     articles of DATA reduced to their first paragraphs
       made_pages.py templates DATA OUT.jsonl.gz   help pages of DATA, whose own markup says what is text

Real sets hold few forums, and few short articles among much boilerplate. The threads follow the markup that forum
programs are known to write (Discuz, phpBB, vBulletin, XenForo, Tieba, Discourse, and table layouts of the
nineties); posts are gold; user boxes, signatures, dates and buttons are not. A shortened article keeps its page:
weights based only on length fail on it. DATA is the folder of the evaluation sets.
"""
import gzip
import html as H
import json
import random
import re
import sys

R = random.Random(7)
ZH, EN = [], []


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle)


def read_paragraphs(data):
    for at, page in enumerate(lines(f"{data}/neardup_zh_lctt.jsonl.gz")):
        if at % 40 == 0:
            ZH.extend(p.strip() for p in page["text"].split("\n") if 15 < len(p.strip()) < 300)
    for name in ("extract_en_articles", "extract_en_mixed"):
        for page in lines(f"{data}/{name}.jsonl.gz"):
            EN.extend(p.strip() for p in page["gold_text"].split("\n") if 40 < len(p.strip()) < 600)


NZ=['山里人','老王','小猪快跑','linux新手','qwe123','风之谷','夜行者','码农一号','天涯过客','阿飞']
NE=['mike_77','Jolene','redfox','Tom B.','user4412','kernelpanic','gardener','Sue','xX_drift_Xx','oldtimer']
def rep(zh):
    n=R.choice([1,1,1,2,2,3]); L=ZH if zh else EN
    out=[]
    for _ in range(n):
        p=R.choice(L)
        if R.random()<.5:
            ss=re.split(r'(?<=[。！？])' if zh else r'(?<=[.!?]) ',p); p=R.choice([s for s in ss if s.strip()] or [p])
        if R.random()<.25: p=R.choice(['顶一下','谢谢楼主分享','同问，有人知道吗？','支持，学习了','我也遇到过这个问题'] if zh else ['Thanks, that worked!','Same here.','+1','Any news on this?','I had the very same problem last year.'])
        out.append(p)
    return out
e=H.escape
def date(zh): return f"20{R.randint(5,24):02d}-{R.randint(1,12)}-{R.randint(1,28)} {R.randint(0,23)}:{R.randint(10,59)}"
def br(ps): 
    s=R.choice(['<br>','<br />\n','<br><br>'])
    return s.join(e(p) for p in ps)
def par(ps): return ''.join(f'<p>{e(p)}</p>' for p in ps)
def sig(zh): return R.choice(['人生如逆旅，我亦是行人。','签名档：Debian testing / 16G 内存','欢迎访问我的博客'] if zh else ['Linux user since 1998','My blog: example.test/blog','"Not all those who wander are lost."','Ryzen 5600X | 32 GB | RTX 3060'])
def user(zh,n): 
    return (n,R.randint(1,90000),R.randint(1,5000))
def discuz(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        u=user(zh,n)
        q=''
        o.append(f'''<div id="post_{i}"><table id="pid{i}" class="plhin" cellspacing="0"><tr><td class="pls" rowspan="2"><div id="favatar{i}" class="pls favatar"><div class="pi"><div class="authi"><a href="space-{i}.html" class="xw1">{n}</a></div></div><div class="avatar"><a href="#"><img src="a.gif"></a></div><p><em><a href="#">{"中级会员" if zh else "Member"}</a></em></p><dl class="pil cl"><dt>{"积分" if zh else "Credits"}</dt><dd><a href="#">{u[1]}</a></dd><dt>{"帖子" if zh else "Posts"}</dt><dd>{u[2]}</dd></dl><ul class="xl xl2 o cl"><li class="pm2"><a href="#">{"发消息" if zh else "PM"}</a></li></ul></div></td><td class="plc"><div class="pi"><strong><a href="#">{i+1}<sup>#</sup></a></strong><div class="pti"><div class="authi"><em id="authorposton{i}">{"发表于" if zh else "Posted"} {date(zh)}</em><span class="pipe">|</span><a href="#">{"只看该作者" if zh else "Author only"}</a></div></div></div><div class="pct"><div class="pcb"><div class="t_fsz"><table cellspacing="0"><tr><td class="t_f" id="postmessage_{i}">{br(ps)}</td></tr></table></div></div></div></td></tr><tr><td class="plc plm">{f'<div class="sign">{e(sg)}</div>' if sg else ''}</td></tr><tr><td class="pls"></td><td class="plc"><div class="po hin"><div class="pob cl"><em><a class="fastre" href="#">{"回复" if zh else "Reply"}</a></em><p><a href="#">{"举报" if zh else "Report"}</a><a href="#">{"使用道具" if zh else "Tools"}</a></p></div></div></td></tr></table></div>''')
    return f'<div id="ct" class="wp cl"><div id="pt" class="bm cl"><div class="z"><a href="#">{"论坛" if zh else "Forum"}</a> &rsaquo; <a href="#">{"技术交流" if zh else "Tech"}</a> &rsaquo; <a href="#">{e(title)}</a></div></div><div id="postlist" class="pl bm"><table><tr><td class="pls ptn"><span class="xg1">{"查看" if zh else "Views"}:</span> {R.randint(9,9999)}</td><td class="plc"><h1 class="ts"><span id="thread_subject">{e(title)}</span></h1></td></tr></table>{"".join(o)}</div></div>'
def phpbb(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        u=user(zh,n)
        o.append(f'''<div id="p{i}" class="post has-profile bg{i%2+1}"><div class="inner"><dl class="postprofile" id="profile{i}"><dt class="has-profile-rank"><div class="avatar-container"></div><a href="#" class="username">{n}</a></dt><dd class="profile-rank">{"注册会员" if zh else "Registered User"}</dd><dd class="profile-posts"><strong>{"帖子" if zh else "Posts"}:</strong> <a href="#">{u[2]}</a></dd><dd class="profile-joined"><strong>{"注册时间" if zh else "Joined"}:</strong> {date(zh)}</dd></dl><div class="postbody"><div id="post_content{i}"><h3><a href="#p{i}">Re: {e(title)}</a></h3><ul class="post-buttons"><li><a href="#">{"引用" if zh else "Quote"}</a></li></ul><p class="author"><a href="#"><span class="sr-only">Post</span></a><span class="responsive-hide">by <strong><a href="#" class="username">{n}</a></strong> » </span><time>{date(zh)}</time></p><div class="content">{br(ps)}</div>{f'<div id="sig{i}" class="signature">{e(sg)}</div>' if sg else ''}</div></div><div class="back2top"><a href="#top">{"页首" if zh else "Top"}</a></div></div></div><hr class="divider">''')
    return f'<div id="wrap" class="wrap"><div id="page-header"><ul id="nav-main" class="nav-main linklist"><li><a href="#">FAQ</a></li><li><a href="#">{"登录" if zh else "Login"}</a></li></ul></div><div id="page-body" class="page-body"><h2 class="topic-title"><a href="#">{e(title)}</a></h2><div class="action-bar bar-top"><a href="#">{"回复" if zh else "Post Reply"}</a><div class="pagination">{len(posts)} posts • Page 1 of 1</div></div>{"".join(o)}</div></div>'
def vb(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        u=user(zh,n)
        o.append(f'''<li class="postbit postbitlegacy postcontainer" id="post_{i}"><div class="posthead"><span class="postdate old"><span class="date">{date(zh)}</span></span><span class="nodecontrols"><a class="postcounter">#{i+1}</a></span></div><div class="postdetails"><div class="userinfo"><div class="username_container"><a class="username" href="#"><strong>{n}</strong></a></div><span class="usertitle">Senior Member</span><dl class="userinfo_extra"><dt>Join Date</dt><dd>{date(zh)}</dd><dt>Posts</dt><dd>{u[2]}</dd></dl></div><div class="postbody"><div class="postrow"><h2 class="title icon">Re: {e(title)}</h2><div class="content"><div id="post_message_{i}"><blockquote class="postcontent restore">{br(ps)}</blockquote></div></div></div>{f'<div class="after_content"><blockquote class="signature restore"><div class="signaturecontainer">{e(sg)}</div></blockquote></div>' if sg else ''}</div></div><div class="postfoot"><a href="#">Reply</a><a href="#">Reply With Quote</a></div></li>''')
    return f'<div class="above_body"><div id="header"><a href="#">Forum</a></div></div><div class="body_wrapper"><div id="breadcrumb" class="breadcrumb"><ul><li><a href="#">Home</a></li><li><a href="#">Forum</a></li></ul></div><div id="pagetitle"><h1>Thread: <a href="#">{e(title)}</a></h1></div><div id="postlist"><ol id="posts" class="posts">{"".join(o)}</ol></div><div class="navlinks"><a>Similar Threads</a></div></div>'
def xf(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        u=user(zh,n)
        o.append(f'''<article class="message message--post" data-author="{n}"><div class="message-inner"><div class="message-cell message-cell--user"><section class="message-user"><div class="message-userDetails"><h4 class="message-name"><a class="username">{n}</a></h4><h5 class="userTitle message-userTitle">Member</h5></div><div class="message-userExtras"><dl class="pairs"><dt>Joined</dt><dd>{date(zh)}</dd></dl><dl class="pairs"><dt>Messages</dt><dd>{u[2]}</dd></dl></div></section></div><div class="message-cell message-cell--main"><div class="message-main"><header class="message-attribution"><time>{date(zh)}</time><a href="#">#{i+1}</a></header><div class="message-content"><div class="message-userContent"><article class="message-body"><div class="bbWrapper">{br(ps)}</div></article></div>{f'<aside class="message-signature"><div class="bbWrapper">{e(sg)}</div></aside>' if sg else ''}</div><footer class="message-footer"><div class="message-actionBar"><a href="#">Report</a><a href="#">Like</a><a href="#">Reply</a></div></footer></div></div></div></article>''')
    return f'<div class="p-pageWrapper"><nav class="p-nav"><a href="#">Forums</a><a href="#">Members</a></nav><div class="p-body"><ul class="p-breadcrumbs"><li><a href="#">Home</a></li></ul><div class="p-body-header"><h1 class="p-title-value">{e(title)}</h1></div><div class="p-body-main"><div class="block-body js-replyNewMessageContainer">{"".join(o)}</div></div></div></div>'
def tieba(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        u=user(zh,n)
        o.append(f'''<div class="l_post l_post_bright j_l_post clearfix"><div class="d_author"><ul class="p_author"><li class="icon"><a class="p_author_face" href="#"><img></a></li><li class="d_name"><a class="p_author_name" href="#">{n}</a></li><li class="l_badge"><div class="d_badge_title">{"初级粉丝"}</div><div class="d_badge_lv">{R.randint(1,14)}</div></li></ul></div><div class="d_post_content_main"><div class="p_content"><cc><div id="post_content_{i}" class="d_post_content j_d_post_content clearfix">{br(ps)}</div></cc></div><div class="core_reply"><div class="core_reply_tail"><ul class="p_tail"><li><span>{i+1}楼</span></li><li><span>{date(zh)}</span></li></ul><a href="#">回复</a><a href="#">举报</a></div></div></div></div>''')
    return f'<div class="wrap1"><div class="nav_wrap"><ul class="nav_list"><li><a>看贴</a></li><li><a>图片</a></li></ul></div><div class="pb_content clearfix"><div id="j_core_title_wrap" class="core_title"><h3 class="core_title_txt">{e(title)}</h3></div><div class="left_section"><div id="j_p_postlist" class="p_postlist">{"".join(o)}</div></div><div class="right_section"><div class="region_bright"><h4>贴吧热议榜</h4><ul><li><a>{R.choice(ZH)[:20]}</a></li><li><a>{R.choice(ZH)[:20]}</a></li></ul></div></div></div></div>'
def disc(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        o.append(f'''<div class="topic-post clearfix regular"><article id="post_{i+1}"><div class="row"><div class="topic-avatar"><img></div><div class="topic-body clearfix"><div class="topic-meta-data"><div class="names trigger-user-card"><span class="username"><a href="#">{n}</a></span></div><div class="post-infos"><a class="post-date">{date(zh)}</a></div></div><div class="regular contents"><div class="cooked">{par(ps)}</div><section class="post-menu-area"><nav class="post-controls"><button>Like</button><span>{R.randint(1,9)} Likes</span></nav></section></div></div></div></article></div>''')
    return f'<header class="d-header"><a href="/">Community</a></header><div id="main-outlet" class="wrap"><div id="topic-title"><h1><a href="#">{e(title)}</a></h1><div class="topic-category"><a href="#">Support</a></div></div><div class="container posts"><section class="topic-area"><div class="posts-wrapper">{"".join(o)}</div></section></div><div class="suggested-topics"><h3>{"相关主题" if zh else "Suggested Topics"}</h3><table><tr><td><a>{e(R.choice(ZH if zh else EN)[:40])}</a></td><td>{R.randint(1,99)}</td></tr></table></div></div>'
def old(posts,zh,title):
    o=[]
    for i,(n,ps,sg) in enumerate(posts):
        o.append(f'''<table width="100%" border="0" cellpadding="4"><tr bgcolor="#eeeeee"><td width="160" valign="top"><font size="2"><b>{n}</b><br>{"等级：" if zh else "Level: "}{R.randint(1,20)}<br>{"文章：" if zh else "Posts: "}{R.randint(1,2000)}<br>{"注册：" if zh else "Joined: "}{date(zh)}</font></td><td valign="top"><font size="2">{date(zh)} <a href="#">{"回复" if zh else "Reply"}</a> <a href="#">{"引用" if zh else "Quote"}</a></font><hr size="1"><font size="3">{br(ps)}</font>{f'<br><br>----------------<br><font size=1>{e(sg)}</font>' if sg else ''}</td></tr></table>''')
    return f'<center><table><tr><td><a href="#">{"首页" if zh else "Home"}</a> | <a href="#">{"注册" if zh else "Register"}</a> | <a href="#">{"搜索" if zh else "Search"}</a></td></tr></table><b>{e(title)}</b></center>{"".join(o)}<hr><center><font size=1>Powered by SomeBoard</font></center>'


def forums(data):
    read_paragraphs(data)
    for k in range(56):
        maker = [discuz, phpbb, vb, xf, tieba, disc, old][k % 7]
        zh = maker is tieba or (k // 7) % 2 == 0
        title = R.choice(ZH)[:R.randint(8, 24)] if zh else R.choice(EN)[:R.randint(25, 60)]
        posts = []
        for i in range(R.randint(3, 16)):
            text = rep(zh) if i else [R.choice(ZH if zh else EN) for _ in range(R.randint(1, 5))]
            posts.append((R.choice(NZ if zh else NE), text, sig(zh) if R.random() < 0.4 else None))
        site = R.choice(["山野论坛", "极客社区"]) if zh else R.choice(["Garden Talk", "The Workshop Forum"])
        words = ["首页", "版块", "导读", "排行榜", "会员"] if zh else ["Home", "Forums", "What's new", "Members", "Rules"]
        menu = "".join(f'<li><a href="/{j}">{word}</a></li>' for j, word in enumerate(words))
        foot = (f'<div id="footer"><p>{"版权所有" if zh else "Copyright"} © 2024 {site} <a>{"手机版" if zh else "Contact us"}</a> '
                f'<a>{"小黑屋" if zh else "Privacy policy"}</a></p><p>GMT+8, {date(zh)}</p></div>')
        html = (f'<html><head><title>{e(title)} - {site}</title></head><body><div id="hd"><ul id="nv">{menu}</ul></div>'
                f'{maker(posts, zh, title)}{foot}</body></html>')
        gold = "\n".join(paragraph for _, text, _ in posts for paragraph in text)
        yield dict(id=f"made-{maker.__name__}-{k}", url="", lang="zh" if zh else "en", kind="forum", gold_text=gold, html=html)


def squeezed(text):
    return re.sub(r"\W+", "", H.unescape(re.sub(r"<[^>]+>", "", text))).lower()


def short(data):
    # English pages do not help: with them, the halves of the mixed set and of cleaneval lost .010.
    for name, share in (("extract_zh_articles", 1), ("pages_zh_gne", 1)):
        for page in lines(f"{data}/{name}.jsonl.gz"):
            chance = random.Random(page["id"])
            if not page.get("gold_text") or "html" not in page or page.get("kind", "article") != "article" or chance.random() > share:
                continue
            gold, html = squeezed(page["gold_text"]), page["html"]
            found = [(m.start(), m.end(), squeezed(m.group(1))) for m in re.finditer(r"<p\b[^>]*>(.*?)</p>", html, re.S | re.I)]
            found = [p for p in found if len(p[2]) >= 12 and p[2] in gold]
            if len(found) < 4:
                continue
            dropped, parts, at = found[chance.choice([1, 1, 2, 2, 3]):], [], 0
            for start, end, _ in dropped:
                if start >= at:
                    parts.append(html[at:start])
                    at = end
            gone = lambda line: any(line in p[2] or p[2] in line for p in dropped) if len(line) >= 4 else False
            left = [line for line in page["gold_text"].split("\n") if squeezed(line) and not gone(squeezed(line))]
            if len(squeezed("".join(left))) >= 20:
                yield dict(id=page["id"] + "~short", url=page.get("url"), lang=page["lang"], kind="article",
                           gold_text="\n".join(left), html="".join(parts) + html[at:])


def templates(data):
    for at, page in enumerate(lines(f"{data}/templates_zh.jsonl.gz")):
        area = re.search(r'<div id="DisplayArea".*?>(.*)<div id="SearchFrame"', page["html"], re.S)
        if at % 60 == 0 and area:
            text = re.sub(r"<(script|style)\b.*?</\1>", "", area.group(1), flags=re.S)
            text = re.sub(r"</?(p|div|h\d|li|ul|ol|td|tr|table|pre|br)\b[^>]*>", "\n", text)
            text = [" ".join(H.unescape(re.sub(r"<[^>]*>", "", line)).split()) for line in text.split("\n")]
            text = "\n".join(line for line in text if line)
            if len(text) > 40:
                yield dict(id=page["id"], url="", lang="zh", kind="documentation", gold_text=text, html=page["html"])


MAKERS = {"forums": forums, "short": short, "templates": templates}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in MAKERS:
        raise SystemExit(__doc__)
    with gzip.open(sys.argv[3], "wt", encoding="utf-8") as out:
        for made in MAKERS[sys.argv[1]](sys.argv[2]):
            out.write(json.dumps(made, ensure_ascii=False) + "\n")
