// Headings of tables become buttons that sort the lines below them; without this script the tables stand as they are.
for (const table of document.querySelectorAll("table.sheet")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      const order = before ? (before === "descending" ? "ascending" : "descending") : numeric ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const value = (row) => row.cells[column].dataset.v || "";
      for (const body of table.tBodies) {
        if (body.classList.contains("reference")) continue;
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          return sign * (numeric ? Number(x) - Number(y) : x.localeCompare(y));
        });
        body.append(...rows);
      }
    });
  });
}
