// Keeps the page of a run up to date while it runs. Without it there is a link to reload the page.
"use strict";

let source = null;
let isAsking = false;
let isChanged = false;

async function update() {
  if (isAsking) { isChanged = true; return; }
  isAsking = true;
  try {
    const answer = await fetch(location.pathname + location.search, { credentials: "same-origin" });
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch (error) { /* the server has stopped; the browser tries again */ }
  isAsking = false;
  if (isChanged) { isChanged = false; update(); }
}

// What the reader has opened, focused and scrolled to stays as it is.
function replace(page) {
  const before = document.getElementById("live");
  const after = page.getElementById("live");
  if (!before || !after) return;
  for (const one of before.querySelectorAll("details")) {
    const same = after.querySelector("#" + CSS.escape(one.id));
    if (same) same.open = one.open || same.open;
  }
  const focused = before.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...before.querySelectorAll(focused.tagName)].indexOf(focused) : -1;
  before.replaceWith(document.importNode(after, true));
  const now = document.getElementById("live");
  if (place >= 0) now.querySelectorAll(focused.tagName)[place]?.focus({ preventScroll: true });
  hideReload();
  if (!now.dataset.events && source) { source.close(); source = null; }
}

function hideReload() {
  for (const one of document.querySelectorAll("#live .reload")) one.hidden = true;
}

document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
  if (!live || !live.dataset.events) return;
  hideReload();
  source = new EventSource(live.dataset.events);
  source.onmessage = update;
  source.addEventListener("end", () => { source.close(); update(); });
  setInterval(() => { if (source) update(); }, 3000);  // bars of steps that are running grow
});

window.addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
});
