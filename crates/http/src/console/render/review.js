// Takes answers about a sample of removals by keys, keeps them in the browser, and saves them as a file.
"use strict";
(() => {
  const review = document.getElementById("review");
  const pairs = [...review.querySelectorAll(".pair")];
  const bar = document.getElementById("answers");
  const progress = document.getElementById("progress");
  const key = `leitong-review-${review.dataset.key}`;
  let answers = {};
  try { answers = JSON.parse(localStorage.getItem(key)) ?? {}; } catch { /* A browser may forbid storage. */ }
  const next = from => pairs.findIndex((_, number) => number >= from && !answers[number]);
  let at = Math.max(next(0), 0);

  function show() {
    pairs.forEach((pair, number) => { pair.hidden = number !== at; });
    const done = pairs.filter((_, number) => answers[number]).length;
    progress.textContent = `Pair ${at + 1} of ${pairs.length}, ${done} answered` + (done === pairs.length ? ": save the answers" : "");
    for (const button of bar.querySelectorAll("[data-answer]"))
      button.setAttribute("aria-pressed", String(answers[at] === button.dataset.answer));
    scrollTo(0, 0);
  }
  function go(number) {
    at = Math.min(Math.max(number, 0), pairs.length - 1);
    show();
  }
  function answer(value) {
    answers[at] = value;
    try { localStorage.setItem(key, JSON.stringify(answers)); } catch { /* They are kept until the page is left. */ }
    const later = next(at + 1);
    go(later >= 0 ? later : at + 1);
  }
  function save() {
    const { seed, removed, same } = review.dataset;
    const given = pairs.map((pair, number) => ({ ...pair.dataset, answer: answers[number] ?? null }));
    const file = { leitong_answers: 1, seed: +seed, removed: +removed, same_text: +same, answers: given };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1) + "\n"], { type: "application/json" }));
    link.download = "answers.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const actions = {
    r: () => answer("right"), w: () => answer("wrong"), u: () => answer("unsure"), s: save,
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  bar.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) actions[button.dataset.key]();
  });
  if (pairs.length) {
    bar.hidden = false;
    show();
  }
})();
