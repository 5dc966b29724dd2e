
// What pages are made of: tables, lists, sections, charts that can be saved.

// Cells are HTML; the first cell of a row names it.
function table(css, heading, rows) {
  const cells = row => row.map((cell, i) => i === 0 ? `<th scope="row">${cell}</th>` : `<td>${cell}</td>`).join("");
  return `<div class="scroll"><table class="${css}"><thead><tr>${
             heading.map(cell => `<th scope="col">${cell}</th>`).join("")}` +
      `</tr></thead><tbody>\n${rows.map(row => `<tr>${cells(row)}</tr>\n`).join("")}</tbody></table></div>\n`;
}

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const fine = new Intl.NumberFormat("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});

// A number stays beside its sign at the end of a line.
const list = (css, sentences) => sentences.length ?
    `<ul class="${css}">\n${
        sentences.map(text => `<li>${html(text).replaceAll(" %", "&nbsp;%")}</li>\n`).join("")}</ul>\n` :
    "";
// As shown_name() in <canopy/base/printable.h>.
const shownName = name => !name ? "(shared)" : "('".includes(name[0]) ? `'${name}'` : name;
const section = (id, title, content) => content ? `<section id="${id}"><h2>${title}</h2>\n${content}</section>\n` : "";
// Saves a chart as a file. Copies the page's style into its elements, so that the file is complete.
function save(id) {
  const chart = document.getElementById(id), copy = chart.cloneNode(true);
  const kept = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linejoin", "stroke-linecap", "font-family",
    "font-size", "font-weight", "text-anchor", "visibility"
  ];
  const from = [chart, ...chart.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of kept)
      if (element !== chart) to[i].style.setProperty(name, style.getPropertyValue(name));
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
