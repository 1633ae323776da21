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

function prepare(root) {
  if (!navigator.clipboard) return;
  for (const one of root.querySelectorAll("button.copy[hidden]")) one.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  prepare(document);
  // On a narrow window the links to pages are one line that scrolls.
  const links = document.querySelector(".side nav");
  const current = links && links.querySelector("[aria-current]");
  if (current) links.scrollLeft = current.offsetLeft - (links.clientWidth - current.offsetWidth) / 2;
});
document.addEventListener("htmx:after:swap", () => prepare(document));

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
