// Copies commands, and takes the reader to a search field with "/". Pages work without it.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button || !navigator.clipboard) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1200);
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("main input[type=search], main textarea, main input[type=text]");
  if (!field) return;
  event.preventDefault();
  field.focus();
});

// On a narrow window the links to pages are one line that scrolls.
function show(link) {
  const links = link.closest("nav");
  links.scrollLeft = link.offsetLeft - (links.clientWidth - link.offsetWidth) / 2;
}

document.addEventListener("focusin", (event) => {
  const link = event.target.closest(".side nav a");
  if (link) show(link);
});

function prepare(root) {
  if (!navigator.clipboard) return;
  for (const one of root.querySelectorAll("button.copy[hidden]")) one.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  prepare(document);
  const current = document.querySelector(".side nav [aria-current]");
  if (current) show(current);
});
document.addEventListener("htmx:after:swap", () => prepare(document));

// A click on a link goes on although it leaves a field that has changed: no answer of a form may
// take the link away while the button is held, or the browser back to the page.
let isLeaving = false;
document.addEventListener("pointerdown", (event) => {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  isLeaving = isPlain && event.target.closest("a[href]") !== null;
});
for (const name of ["input", "submit"]) {
  document.addEventListener(name, () => { isLeaving = false; }, true);
}
for (const name of ["htmx:before:request", "htmx:before:swap"]) {
  document.addEventListener(name, (event) => {
    if (isLeaving && !event.detail.ctx.sourceElement.matches("a")) event.preventDefault();
  });
}

// A slider beside a number field: it appears where scripts run, and each follows the other.
document.addEventListener("input", (event) => {
  const slider = event.target.closest("input[data-moves]");
  if (slider) document.getElementById(slider.dataset.moves).value = slider.value;
  for (const one of document.querySelectorAll("input[data-moves]")) {
    if (one.dataset.moves === event.target.id) one.value = event.target.value;
  }
});

document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("input[data-moves][hidden]")) one.hidden = false;
});
