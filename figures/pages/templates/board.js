// Filters: units, one epsilon (or the mean over those that are private), methods, and how they stand.
const lists = [...document.querySelectorAll("select[data-filters]")];
const rows = [...document.querySelectorAll("#rows-table > tbody > tr")];
const refresh = () => {
  const { unit, epsilon, method, outcome } = Object.fromEntries(lists.map((one) => [one.dataset.filters, one.value]));
  const fits = ({ dataset }) =>
    (!method || dataset.method === method) && (!outcome || dataset.outcome.split(" ").includes(outcome));
  for (const section of document.querySelectorAll("section[data-unit]")) {
    section.hidden = Boolean(unit) && section.dataset.unit !== unit;
    let shown = false;
    for (const part of section.querySelectorAll("[data-at]")) {
      part.hidden = part.dataset.at !== epsilon;
      shown ||= !part.hidden;
      for (const row of part.querySelectorAll("tbody tr")) row.hidden = !fits(row);
    }
    section.querySelector(".nothing").hidden = shown;
  }
  let left = 0;
  for (const row of rows) {
    const { dataset } = row;
    row.hidden = !fits(row) || (unit && dataset.unit !== unit) || (epsilon && dataset.epsilon !== epsilon);
    left += row.hidden ? 0 : 1;
  }
  document.getElementById("rows-left").textContent = `${left} of ${rows.length} rows`;
};
for (const one of lists) one.addEventListener("change", refresh);
refresh();
// A link to the settings of a row opens them, also where a filter hides the row.
const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]")) {
    for (const one of lists) one.value = "";
    refresh();
  }
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", openTarget);
openTarget();
