"use strict";
// Sorting: a button in every heading; the order of equal rows stays, and empty cells come last.
const keyOf = (row, column) => {
  const cell = row.cells[column];
  return "number" in cell.dataset ? Number(cell.dataset.number) : cell.textContent.trim();
};
const compare = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
};
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th");
    const body = button.closest("table").tBodies[0];
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...body.rows].map((row) => [keyOf(row, heading.cellIndex), row]);
    rows.sort(([a], [b]) => (a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  });
}
// A picture in its full size; Escape closes it.
const dialog = document.querySelector("dialog");
const enlarged = dialog.appendChild(new Image());
for (const button of document.querySelectorAll(".zoom")) {
  button.addEventListener("click", () => {
    const picture = button.querySelector("img");
    enlarged.src = picture.src;
    enlarged.alt = picture.alt;
    dialog.showModal();
  });
}
dialog.addEventListener("click", () => dialog.close());
