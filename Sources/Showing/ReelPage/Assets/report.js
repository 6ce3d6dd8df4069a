"use strict";
// Each filter shows the files of one result or one reason.
const buttons = [...document.querySelectorAll("#filters button")];
const files = [...document.querySelectorAll(".files > li")];
for (const button of buttons) {
  button.onclick = () => {
    const wanted = button.dataset.filter;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    for (const file of files) file.hidden = Boolean(wanted) && !file.dataset.tags.split(" ").includes(wanted);
    document.getElementById("shown").textContent = `${files.filter((file) => !file.hidden).length} shown`;
  };
}
document.getElementById("filters").hidden = buttons.length < 3;
