//! Checks that every page of the console must pass in Chromium.

use std::path::Path;

use super::browser::Browser;

/// Markup that runs if it is shown as anything but text.
pub(crate) const HOSTILE: &str = "</title></textarea><script>window.ran=1</script><img src=x onerror=window.ran=2>\
                       \" onfocus=window.ran=3 autofocus x=\"<svg onload=window.ran=4><a href=javascript:window.ran=5>\
                       <meta http-equiv=refresh content=0;url=https://evil.example/><base href=//evil.example/>";

/// Checks what must hold for every page, light and dark, wide and narrow.
#[track_caller]
pub(crate) fn assert_well_made(browser: &mut Browser, address: &str, origin: &str) {
    for (width, dark) in [(1200, false), (1200, true), (360, false), (360, true)] {
        browser.window((width, 800), dark);
        browser.open(address);
        let at = format!("{address} at {width} px");
        assert_eq!(browser.complaints(origin), Vec::<String>::new(), "{at}");
        assert_eq!(browser.run("typeof window.ran"), "undefined", "{at}");
        let scroll =
            browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(scroll, 0, "{at}: it scrolls sideways");
        let colours = browser.run(CONTRAST);
        assert_eq!(colours, serde_json::json!([]), "{at}: too little contrast");
        assert_eq!(browser.run(UNNAMED), serde_json::json!([]), "{at}: without a name");
    }
}

/// Finds texts with too little contrast to their background, by the rule of WCAG 2 (4.5 to 1).
const CONTRAST: &str = "(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = new Set();
  for (const element of document.body.querySelectorAll('*')) {
    const says = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!says || !element.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()";

/// Finds fields without a label, and incorrect headings, tables and landmarks.
const UNNAMED: &str = "(() => {
  const all = (selector, is) => [...document.querySelectorAll(selector)].filter(is).map(e => e.outerHTML.slice(0, 80));
  return [
    ...all('input:not([type=hidden]), textarea', e => !e.labels.length),
    ...all('th', e => !e.scope),
    ...all('a, button, summary', e => !e.textContent.trim()),
    ...all('[aria-labelledby]', e => !document.getElementById(e.getAttribute('aria-labelledby'))),
    ...(document.querySelectorAll('main, h1').length === 2 ? [] : ['one main and one h1']),
    ...(document.documentElement.lang ? [] : ['lang']),
  ];
})()";

/// Writes a picture for the docs if requested.
pub(crate) fn picture(browser: &mut Browser, name: &str) {
    let picture = browser.picture();
    assert!(picture.len() > 10_000, "{name}: a picture of nothing");
    if std::env::var("LEITONG_SCREENSHOTS").as_deref() == Ok("write") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, picture).expect("a picture");
    }
}
