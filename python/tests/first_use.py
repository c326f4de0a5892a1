"""Forks again and again while another thread uses the package for the first time; prints the exit status of each child."""

import os
import signal
import threading

import leitong

TEXT = "渡轮从周一起重新驶往各岛。公司修好了三月份出故障的发动机，并为在城里工作而想回家过夜的人增加了晚间的一班。" * 3
HTML = f"<title>Ferry &hellip;</title><article><p>{TEXT}</p><p>The ferry sails again. The company repaired the engine.</p></article>"


def use():
    leitong.Deduplicator().decide({"html": HTML, "url": "https://a.example/1"})
    leitong.Deduplicator().decide_batch([TEXT, {"html": HTML}])


first = threading.Thread(target=use)
first.start()
children = []
for place in range(8):
    first.join(0.02)
    child = os.fork()
    if child == 0:
        # Ends a child that waits forever.
        signal.alarm(240)
        use()
        os._exit(0)
    children.append(child)
first.join()
for child in children:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
