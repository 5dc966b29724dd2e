
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const choice = document.getElementById("capacity"), speed = document.getElementById("speed"),
        price = document.getElementById("price");
  const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
  const fine = new Intl.NumberFormat("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});

  function show() {
    for (const part of document.querySelectorAll(".at-capacity")) part.hidden = part.dataset.capacity !== choice.value;
  }

  function rowOf(policy, capacity) {
    return data.rows.find(row => row.policy === policy && (row.capacity_tokens === null || row.capacity_tokens === capacity));
  }

  // Refills the tables of savings. A row's policy is what its first cell says.
  function priceAll() {
    if (!speed.checkValidity() || !price.checkValidity() || !(speed.valueAsNumber > 0) || !(price.valueAsNumber >= 0)) return;
    for (const part of document.querySelectorAll(".money")) {
      const capacity = data.capacities[Number(part.dataset.capacity)];
      const hours = row => row.hit_tokens / speed.valueAsNumber / 3600;
      const base = rowOf(data.baseline, capacity);
      for (const line of part.querySelectorAll("tbody tr")) {
        const row = data.rows.filter(each => each.capacity_tokens === null || each.capacity_tokens === capacity)[line.rowIndex - 1];
        const money = hours(row) * price.valueAsNumber;
        line.cells[2].textContent = fine.format(hours(row));
        line.cells[3].textContent = fine.format(money);
        if (data.month === null) continue;
        line.cells[4].textContent = whole.format(money * data.month);
        if (!base || row === base) continue;
        const more = (hours(row) - hours(base)) * price.valueAsNumber * data.month;
        const sign = Math.abs(more) < 0.5 ? "" : more < 0 ? "-" : "+";
        line.cells[5].textContent = sign + whole.format(Math.abs(more));
      }
    }
  }

  // A chart as a file of its own: what the page's style says is written into its elements.
  function save(id) {
    const chart = document.getElementById(id), copy = chart.cloneNode(true);
    const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "font-family",
                  "font-size", "font-weight", "text-anchor", "visibility"];
    const from = [chart, ...chart.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const name of kept) if (element !== chart) to[i].style.setProperty(name, style.getPropertyValue(name));
    });
    const box = chart.viewBox.baseVal, paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    paper.setAttribute("width", "100%");
    paper.setAttribute("height", "100%");
    paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.insertBefore(paper, copy.firstChild);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"}));
    link.download = "canopy-" + id + ".svg";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  for (const button of document.querySelectorAll(".save")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button.dataset.chart));
  }
  choice.addEventListener("change", show);
  speed.addEventListener("input", priceAll);
  price.addEventListener("input", priceAll);
  document.querySelector(".prices").addEventListener("submit", event => event.preventDefault());
  window.addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
  show();
  priceAll();
})();
