// Claims of one paper, or of one verdict.
const filters = [...document.querySelectorAll("select[data-filters]")];
const refresh = () => {
  let left = 0;
  const rows = document.querySelectorAll("#claims-table tbody tr");
  for (const row of rows) {
    row.hidden = filters.some((one) => one.value && row.dataset[one.dataset.filters] !== one.value);
    left += row.hidden ? 0 : 1;
  }
  document.getElementById("claims-left").textContent = `${left} of ${rows.length} claims`;
};
for (const one of filters) one.addEventListener("change", refresh);
// A link to the claims of a paper shows these alone.
for (const link of document.querySelectorAll("a[data-claims]")) {
  link.addEventListener("click", () => {
    for (const one of filters) one.value = one.dataset.filters === "paper" ? link.dataset.claims : "";
    refresh();
  });
}
refresh();
