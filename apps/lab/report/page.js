
// The page: tables, sections, and the reader's controls.

// Cells are HTML; the first cell of a row names it.
function table(css, heading, rows) {
  const cells = row => row.map((cell, i) => i === 0 ? `<th scope="row">${cell}</th>` : `<td>${cell}</td>`).join("");
  return `<div class="scroll"><table class="${css}"><thead><tr>${
             heading.map(cell => `<th scope="col">${cell}</th>`).join("")}` +
      `</tr></thead><tbody>\n${rows.map(row => `<tr>${cells(row)}</tr>\n`).join("")}</tbody></table></div>\n`;
}

function figuresTable() {
  const cell = (name, at) => {
    const row = rowOf(name, at), bold = row && row === bestAt(at) ? ["<b>", "</b>"] : ["", ""];
    if (!row) return "-";
    const share = row.optimum_share !== null && !isBound(name) ? `<small>${percent(row.optimum_share)}</small>` : "";
    return `${bold[0]}${percent(row.hit_rate)}${bold[1]}<small>${grouped(row.hit_tokens)}</small>${share}`;
  };
  return table(
             "figures", ["Capacity", ...data.policies.map(html)],
             capacities.map(at => [html(at.words), ...data.policies.map(name => cell(name, at))])) +
      '<p class="small">Below each hit rate: the reused tokens and, if it is known, their share of the optimum.</p>\n';
}

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const fine = new Intl.NumberFormat("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});

// `speed`: prompt tokens that one GPU computes per second; `price`: its cost per hour.
function savingsTable(at, speed, price) {
  const base = rowOf(baseline, at), hours = row => row.hit_tokens / speed / 3600;
  const heading = ["Policy", "Tokens not computed again", "GPU hours saved", "Money saved"];
  if (month !== null) heading.push("Money in 30 days like this", "compared with " + html(baseline ?? ""));
  return table("savings", heading, rowsAt(data.policies, at).map(row => {
    const money = hours(row) * price, more = base ? (hours(row) - hours(base)) * price * month : 0;
    const sign = Math.abs(more) < 0.5 ? "" : more < 0 ? "-" : "+";
    const months = month === null ?
        [] :
        [whole.format(money * month), !base || row === base ? "-" : sign + whole.format(Math.abs(more))];
    return [html(row.policy), grouped(row.hit_tokens), fine.format(hours(row)), fine.format(money), ...months];
  }));
}

function evicted(at) {
  const charts = regretChart(at, "age", "Tokens by the time since they were last requested") +
      regretChart(at, "depth", "Tokens by their depth in the prompt") +
      regretChart(at, "turn", "Tokens by the turn that requested them again");
  return table(
             "evicted", ["Policy", "Tokens evicted", "Evicted and requested again", "Of all prompt tokens"],
             rowsAt(policies, at)
                 .map(
                     row =>
                         [html(row.policy), row.evicted_tokens === null ? "not known" : grouped(row.evicted_tokens),
                          grouped(row.regret.tokens), percentOf(row.regret.tokens, data.prompt_tokens)])) +
      (charts ? `<div class="small-charts">${charts}</div>\n` :
                "<p>No evicted token was requested again.</p>\n");
}

// Lists the leaves that waited at the end of each policy's run, in the policy's words.
function waiting(at) {
  const most = 12;
  let out = "";
  for (const row of rowsAt(policies, at).filter(row => row.waiting.rule)) {
    const {rule, kinds} = row.waiting;
    out += `<h4>${html(row.policy)}</h4>\n<p>${html(rule[0].toUpperCase() + rule.slice(1))}.</p>\n`;
    if (!kinds.length) continue;
    const sorted = [...kinds].sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
    const sum = some => some.reduce((all, kind) => all + kind.tokens, 0), left = sum(sorted.slice(most));
    out += table(
        "waiting", ["Leaves", "Number", "Tokens", "Share", "The first of them to be evicted"],
        sorted.slice(0, most).map(
            kind =>
                [html(kind.name || "all"), grouped(kind.nodes), grouped(kind.tokens),
                 percentOf(kind.tokens, sum(kinds)), html(kind.first)]));
    if (left > 0)
      out += `<p class="small">Not shown: ${plural(kinds.length - most, "kind")} with ${grouped(left)} tokens.</p>\n`;
  }
  return out;
}

// Lists hit rates by parts of the requests. A kind with one part is left out: the part is all requests.
function parts(at) {
  const slices = (data.rows.find(row => Object.keys(row.slices).length) || {slices: {}}).slices, shown = [];
  for (const [kind, all] of Object.entries(slices))
    if (all.length > 1)
      all.map((slice, i) => [kind, i, slice])
          .filter(([, , slice]) => slice.requests > 0)
          .slice(0, 12)
          .forEach(one => shown.push(one));
  const rateOf = (row, kind, i) => {
    const slice = row && row.slices[kind] && row.slices[kind][i];
    return slice ? percentOf(slice.hit_tokens, slice.prompt_tokens) : "-";
  };
  return shown.length ? table(
                            "slices", ["Requests", "Share of the prompts", ...policies.map(html)],
                            shown.map(
                                ([kind, i, slice]) =>
                                    [html(slice.name.startsWith(kind) ? slice.name : kind + ": " + slice.name),
                                     percentOf(slice.prompt_tokens, data.prompt_tokens),
                                     ...policies.map(name => rateOf(rowOf(name, at), kind, i))])) :
                        "";
}

// Lists for each policy how evenly its hits are spread over the namespaces.
function fairness(at) {
  const rows = rowsAt(data.policies, at).filter(row => row.fairness);
  return rows.length ? table(
                           "fairness", ["Policy", "Worst tenant", "Its hit rate", "Jain's index"],
                           rows.map(
                               ({policy, fairness}) =>
                                   [html(policy), html(fairness.worst), percent(fairness.worst_hit_rate),
                                    fairness.jain.toFixed(3)])) +
          '<p class="small">Jain\'s index of the hit rates of all namespaces: 1 if they are equal, 1/n if only one of ' +
          "n hits.</p>\n" :
                       "";
}

function reproduce() {
  const rows = data.rows.filter(row => row.index_seconds !== null)
                   .map(
                       row =>
                           [html(row.policy), row.capacity_tokens === null ? "no limit" : grouped(row.capacity_tokens),
                            `<code>${row.digest}</code>`, String(row.seed), seconds(row.index_seconds)]);
  const took = data.seconds > 0 ? ` It took ${duration(data.seconds)} with ${plural(data.jobs, "run")} at once.` : "";
  return `<pre>${html(data.command)}</pre>\n<p>The same command gives the same digests on every machine; ` +
      `${plural(data.ledger_checks, "check")} of the ledger were made, ${grouped(data.violations)} failed.${
             took}</p>\n` +
      "<details><summary>Digests</summary>\n" +
      (rows.length ? table("digests", ["Policy", "Capacity", "Digest of the run", "Seed", "Time in the index"], rows) :
                     "") +
      "</details>\n";
}

// A number stays beside its sign at the end of a line.
const list = (css, sentences) => sentences.length ?
    `<ul class="${css}">\n${
        sentences.map(text => `<li>${html(text).replaceAll(" %", "&nbsp;%")}</li>\n`).join("")}</ul>\n` :
    "";
const section = (id, title, content) => content ? `<section id="${id}"><h2>${title}</h2>\n${content}</section>\n` : "";
// Returns `content` for each capacity; the page shows one of them.
const forEachCapacity = (css, content) => capacities.some(content) ?
    capacities
        .map(
            at => `<div class="at-capacity ${css}" data-capacity="${at.i}"${at === telling ? "" : " hidden"}><h3>At ${
                      html(at.words)}</h3>\n` +
                `<div class="content">${content(at)}</div></div>\n`)
        .join("") :
    "";

function page() {
  const speed = 10000, price = 2.5;
  const legend = '<p class="legend">' +
      policies.map(name => `<span>${keyOf(styleOf(name))}${html(name)}</span> `).join("") + "</p>\n";
  const options =
      capacities.map(at => `<option value="${at.i}"${at === telling ? " selected" : ""}>${html(at.words)}</option>`)
          .join("");
  return `<header><h1>Eviction policies on ${html(data.source)}</h1><p class="small">${html(data.config)}, ` +
      `${data.blocks ? "blocks of" : "pages of"} ${grouped(data.page_size)} tokens` +
      (data.warm_up ? `, the first ${plural(data.warm_up, "request")} not counted` : "") +
      ", made by canopy compare</p></header>\n" + list("warnings", warnings()) +
      section("reading", "What it shows", list("sentences", reading())) +
      section("hit-rate", "Hit rate over capacity", hitChart() + legend + figuresTable()) +
      `<p class="choice"><label>Capacity <select id="capacity">${options}</select></label></p>\n` +
      section(
             "saved", "What it saves",
             '<form class="prices"><label>One GPU prefills <input id="speed" type="number" min="1" step="any" ' +
                 `value="${
                     speed}"> tokens a second</label> <label>and costs <input id="price" type="number" min="0" step="any" ` +
                 `value="${
                     price.toFixed(
                         2)}"> an hour</label></form>\n<p class="small">Both are assumptions: enter your own. A reused token ` +
                 "is not computed again; the later cost of attention over it is not counted.</p>\n" +
                 forEachCapacity("money", at => savingsTable(at, speed, price))) +
      section("evicted", "What was evicted too early", legend + forEachCapacity("regret", evicted)) +
      section("waiting", "What waited when the trace ended", forEachCapacity("waits", waiting)) +
      section("parts", "Hit rate by kind of request", forEachCapacity("parts", parts)) +
      section("fairness", "Fairness between tenants", forEachCapacity("fairness", fairness)) +
      section("reproduce", "How to reproduce it", reproduce());
}

// Saves a chart as a file. Copies the page's style into its elements, so that the file is complete.
function save(id) {
  const chart = document.getElementById(id), copy = chart.cloneNode(true);
  const kept = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "font-family",
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

function start() {
  document.title = "Policies on " + data.source;
  document.getElementById("page").innerHTML = page();
  const choice = document.getElementById("capacity"), speed = document.getElementById("speed"),
        price = document.getElementById("price");
  const show = () => document.querySelectorAll(".at-capacity").forEach(part => {
    part.hidden = part.dataset.capacity !== choice.value;
  });
  const priceAll = () => {
    if (!speed.checkValidity() || !price.checkValidity() || !(speed.valueAsNumber > 0) || !(price.valueAsNumber >= 0))
      return;
    for (const part of document.querySelectorAll(".money"))
      part.querySelector(".content").innerHTML =
          savingsTable(capacities[part.dataset.capacity], speed.valueAsNumber, price.valueAsNumber);
  };
  document.querySelectorAll(".save").forEach(
      button => button.addEventListener("click", () => save(button.dataset.chart)));
  choice.addEventListener("change", show);
  speed.addEventListener("input", priceAll);
  price.addEventListener("input", priceAll);
  document.querySelector(".prices").addEventListener("submit", event => event.preventDefault());
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(part => {
    part.open = true;
  }));
  show();  // a browser keeps a form's values over a reload
  priceAll();
}
if (typeof window !== "undefined") start();
