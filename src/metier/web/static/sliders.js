// A slider beside a number field sets it; without this script the field alone is there.
"use strict";

for (const slider of document.querySelectorAll("input[type=range][data-sets]")) {
  const field = document.getElementById(slider.dataset.sets);
  slider.hidden = false;
  slider.addEventListener("input", () => { field.value = slider.value; });
  field.addEventListener("input", () => { slider.value = field.value || field.placeholder; });
}
