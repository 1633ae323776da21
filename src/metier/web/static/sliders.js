// A slider beside a number field sets it; without this script the field alone is there.
"use strict";

function sliders() {
  return document.querySelectorAll("input[type=range][data-sets]");
}

document.addEventListener("input", (event) => {
  const sets = event.target.dataset.sets;
  if (sets) document.getElementById(sets).value = event.target.value;
  for (const slider of sliders()) {
    if (slider.dataset.sets === event.target.id) slider.value = event.target.value || event.target.placeholder;
  }
});

function showSliders() {
  for (const slider of sliders()) slider.hidden = false;
}

showSliders();
document.addEventListener("htmx:after:swap", showSliders);
