// What the console does beyond plain pages: it asks for a page again while somebody looks,
// moves by keys, and copies statements. Without it every page still works.

const root = document.body.dataset.root;
const stored = (name, otherwise) => { try { return localStorage.getItem(name) ?? otherwise } catch { return otherwise } };
const store = (name, value) => { try { localStorage.setItem(name, value) } catch { /* private windows may refuse */ } };

// Live figures. The page is asked for again and its main part replaced. A document that
// XMLHttpRequest parses runs no scripts, and needs no text that becomes markup.

const live = document.getElementById("live");
const state = document.getElementById("live-state");
const interval = document.getElementById("interval");
let timer, asking;

function schedule() {
  clearTimeout(timer);
  const chosen = Number(interval.value), least = Number(document.getElementById("main").dataset.live || 0);
  const seconds = pending() ? 1 : chosen && Math.max(chosen, least);
  if (seconds > 0 && !document.hidden) timer = setTimeout(refresh, seconds * 1000);
  say(seconds === 0 ? "paused" : seconds === least ? `this page every ${least} s` : "");
}

function say(text) { if (state.textContent !== text) state.textContent = text }

function busy(main) { // somebody types, chooses or selects
  const chosen = document.getSelection();
  return main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea, button, summary") ||
    chosen && !chosen.isCollapsed && main.contains(chosen.anchorNode) || document.querySelector("dialog[open]");
}

// Figures that are being read are asked for again, whatever the interval.
function pending() { return "waiting" in document.getElementById("main").dataset }

function wanted(main) { return (pending() || Number(interval.value) > 0) && !document.hidden && !busy(main) }

function refresh() {
  const main = document.getElementById("main");
  if (asking || !wanted(main)) return schedule();
  asking = new XMLHttpRequest();
  const url = new URL(location.href);
  url.searchParams.delete("done");
  asking.open("GET", url);
  asking.responseType = "document";
  asking.timeout = 15000;
  asking.onloadend = () => {
    const fresh = asking.status === 200 && asking.responseXML?.querySelector("main");
    const ok = fresh && new URL(asking.responseURL).pathname === location.pathname;
    asking = null;
    if (ok && wanted(main)) { // somebody may have begun to type meanwhile
      keepOpen(main, fresh);
      const link = main.contains(document.activeElement) && document.activeElement.getAttribute("href");
      main.replaceChildren(...fresh.childNodes);
      if (!("waiting" in fresh.dataset)) delete main.dataset.waiting;
      prepare(main);
      highlight();
      if (link) [...main.querySelectorAll("a")].find((a) => a.getAttribute("href") === link)?.focus({ preventScroll: true });
    }
    if (pending() || "live" in main.dataset) schedule();
    if (!ok) say("The server does not answer; the figures are old.");
  };
  asking.send();
}

// What the reader has unfolded stays so.
function keepOpen(from, to) {
  const before = from.querySelectorAll("details"), after = to.querySelectorAll("details");
  if (before.length === after.length) before.forEach((d, i) => { after[i].open = d.open });
}

if (document.querySelector("main[data-live], main[data-waiting]")) {
  live.hidden = !document.querySelector("main[data-live]");
  interval.value = stored("howdah-interval", "2");
  if (interval.selectedIndex < 0) interval.value = "2";
  interval.addEventListener("change", () => { store("howdah-interval", interval.value); schedule() });
  document.addEventListener("visibilitychange", schedule);
  schedule();
}

// Buttons that copy statements.

function prepare(part) {
  for (const block of part.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard || block.querySelector(".copy")) continue;
    const text = block.textContent.trim();
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy";
      }
      setTimeout(() => { button.textContent = "Copy" }, 2000);
    });
    block.append(button);
  }
}
prepare(document);

// Keys. None of them changes anything.

const dialog = document.getElementById("keys");
const keysOn = document.getElementById("keys-on");
keysOn.checked = stored("howdah-keys", "on") === "on";
keysOn.addEventListener("change", () => store("howdah-keys", keysOn.checked ? "on" : "off"));

const pages = { o: "", s: "sessions", d: "doctor", c: "clients" };
let row = -1, going = false;

function rows() { return [...document.querySelectorAll("main tbody tr")].filter((r) => r.querySelector("a[href]")) }

function highlight() {
  rows().forEach((r, i) => r.classList.toggle("here", i === row));
}

function move(by) {
  const all = rows();
  if (all.length === 0) return;
  row = Math.min(Math.max(row + by, 0), all.length - 1);
  highlight();
  all[row].querySelector("a[href]").focus();
  all[row].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input, select, textarea, dialog")) return;
  if (!keysOn.checked && event.key !== "?") return;
  if (going) {
    going = false;
    if (event.key in pages) {
      event.preventDefault();
      location.assign(root + pages[event.key]);
    }
    return;
  }
  switch (event.key) {
    case "g": going = true; setTimeout(() => { going = false }, 1500); break;
    case "j": move(1); break;
    case "k": move(-1); break;
    case "?": dialog.showModal(); break;
    case "/": {
      const search = document.querySelector("[data-search]");
      if (!search) return;
      search.focus();
      search.select();
      break;
    }
    default: return;
  }
  event.preventDefault();
});
