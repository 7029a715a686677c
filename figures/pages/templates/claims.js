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
refresh();
