// Looks at a page as it is shown, and returns what is wrong with it as sentences.
(() => {
  const wrong = [];
  const shown = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !e.closest("dialog:not([open])");
  const style = (e) => getComputedStyle(e);
  const name = (e) => {
    const text = (e.textContent || e.getAttribute("aria-label") || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${e.localName}${e.id ? "#" + e.id : ""}${e.getAttribute("class") ? "." + e.getAttribute("class").replaceAll(" ", ".") : ""}> “${text}”`;
  };

  // Contrast of text, WCAG 2.2 1.4.3: 4.5 to 1, large text 3 to 1.
  const channels = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    if (!colour.startsWith("rgb")) wrong.push(`the audit cannot read the colour ${colour}`);
    return { r: parts[0], g: parts[1], b: parts[2], a: parts[3] ?? 1 };
  };
  const over = (top, below) => {
    const mix = (x, y) => x * top.a + y * (1 - top.a);
    return { r: mix(top.r, below.r), g: mix(top.g, below.g), b: mix(top.b, below.b), a: 1 };
  };
  const ground = (e) => {
    if (!e) return { r: 255, g: 255, b: 255, a: 1 };
    const own = channels(style(e).backgroundColor);
    return own.a === 1 ? own : over(own, ground(e.parentElement));
  };
  const luminance = ({ r, g, b }) => {
    const linear = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (x, y) => {
    const [light, dark] = [luminance(x), luminance(y)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(e) || e.closest("script, style, :disabled")) continue;
    if (e.closest(".hidden, .skip:not(:focus)")) continue; // for screen readers only
    texts++;
    const below = ground(e), ratio = contrast(over(channels(style(e).color), below), below);
    const size = parseFloat(style(e).fontSize), large = size >= 24 || size >= 18.66 && Number(style(e).fontWeight) >= 700;
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)} of the text of ${name(e)}`);
  }
  if (texts < 10) wrong.push(`only ${texts} texts are shown`);

  // The border of a field is what shows where it is, 1.4.11: 3 to 1.
  for (const e of document.querySelectorAll("input:not([type=hidden], [type=checkbox]), select, textarea")) {
    if (!shown(e) || e.disabled) continue;
    const border = channels(style(e).borderTopColor), ratio = contrast(over(border, ground(e.parentElement)), ground(e.parentElement));
    if (ratio < 3) wrong.push(`contrast ${ratio.toFixed(2)} of the border of ${name(e)}`);
  }

  // Size of targets: main controls 44 px high; others 24 px, or so far from others (2.5.8).
  const targets = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")].filter(shown);
  const box = (e) => (e.type === "checkbox" && e.closest("label") || e).getBoundingClientRect();
  for (const e of targets) {
    const b = box(e);
    if (e.matches(".skip") && e !== document.activeElement) continue;
    if (e.matches("button, input, select, summary, .button, header a, nav a") && b.height < 43.9) wrong.push(`${name(e)} is ${b.height} px high, not 44`);
    if (e.matches("p a, li a, dd a") || b.height >= 23.9 && b.width >= 23.9) continue; // in a sentence, or large enough
    const x = b.x + b.width / 2, y = b.y + b.height / 2;
    for (const other of targets) {
      if (other === e || e.contains(other) || other.contains(e)) continue;
      const o = box(other), dx = Math.max(o.left - x, 0, x - o.right), dy = Math.max(o.top - y, 0, y - o.bottom);
      if (Math.hypot(dx, dy) < 12) wrong.push(`${name(e)} is ${Math.round(b.width)} × ${Math.round(b.height)} px, close to ${name(other)}`);
    }
  }

  // Focus is seen on everything that keys reach.
  const before = document.activeElement;
  for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")) {
    if (!shown(e) || e.disabled) continue;
    e.focus({ preventScroll: true, focusVisible: true });
    if (document.activeElement !== e) { wrong.push(`${name(e)} does not take the focus`); continue }
    const s = style(e), ratio = contrast(channels(s.outlineColor), ground(e.parentElement));
    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) wrong.push(`no focus is seen on ${name(e)}`);
    else if (ratio < 3) wrong.push(`contrast ${ratio.toFixed(2)} of the focus on ${name(e)}`);
  }
  before?.focus?.({ preventScroll: true });
  if (document.activeElement !== before) document.activeElement?.blur();

  // Structure.
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown).map((h) => Number(h.localName[1]));
  if (levels.filter((l) => l === 1).length !== 1) wrong.push(`${levels.filter((l) => l === 1).length} h1`);
  levels.forEach((level, i) => { if (i > 0 && level > levels[i - 1] + 1) wrong.push(`a heading h${level} follows h${levels[i - 1]}`) });
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) wrong.push(`the id ${id} stands twice`);
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], [aria-controls], label[for]")) {
    for (const attribute of ["aria-describedby", "aria-labelledby", "aria-controls", "for"]) {
      const id = e.getAttribute(attribute);
      if (id && !document.getElementById(id)) wrong.push(`${attribute} of ${name(e)} names ${id}, which is not there`);
    }
  }
  for (const table of document.querySelectorAll("main table")) {
    if (!table.caption?.textContent.trim()) wrong.push(`${name(table)} has no caption`);
    const heads = [...table.querySelectorAll("thead th[scope=col]")];
    if (heads.length === 0) wrong.push(`${name(table)} has no column headers`);
    if (heads.some((h) => !h.textContent.trim())) wrong.push(`a column header of ${name(table)} is empty`);
    for (const row of table.tBodies[0]?.rows ?? []) {
      if (row.cells.length !== heads.length) { wrong.push(`a row of ${name(table)} has ${row.cells.length} cells, its head ${heads.length}`); break }
    }
  }
  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (!document.title.trim()) wrong.push("the page has no title");

  // Nothing is wider than the window but what scrolls by itself.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    wrong.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${width}`);
    for (const e of document.querySelectorAll("main *, header *, footer *")) {
      if (shown(e) && e.getBoundingClientRect().right > width + 1) wrong.push(`${name(e)} reaches to ${Math.round(e.getBoundingClientRect().right)} px`);
    }
  }
  return [...new Set(wrong)];
})()
