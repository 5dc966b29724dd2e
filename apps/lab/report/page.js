
// The page: tables, sections, and the reader's controls.

function figuresTable() {
  const cell = (name, at) => {
    const row = rowOf(name, at), bold = row && row === bestAt(at) ? ["<b>", "</b>"] : ["", ""];
    if (!row) return "-";
    const share = row.optimum_share !== null && !isBound(name) ? `<small>${percent(row.optimum_share)}</small>` : "";
    const spread = row.spread ? `<small>${intervalOf(row.spread, share => fixed(share * 100, 2))}</small>` : "";
    const gain = row.gain ? `<small>${signed(row.gain.mean)} % ${intervalOf(row.gain, signed)}</small>` : "";
    return `${bold[0]}${percent(row.hit_rate)}${bold[1]}${spread}<small>${grouped(row.hit_tokens)}</small>${share}${gain}`;
  };
  return table(
             "figures", ["Capacity", ...data.policies.map(html)],
             capacities.map(at => [html(at.words), ...data.policies.map(name => cell(name, at))])) +
      '<p class="small">Below each hit rate: the reused tokens and, if they are known, their share of the optimum and how ' +
      `many more they are than those of ${html(data.policies[0])}` +
      (data.seeds.length > 1 ? `. Rates are means over the ${data.seeds.length} seeds, tokens and GPU time sums` : "") +
      (data.intervals ? `, with the interval. Intervals: ${html(data.intervals)}.</p>\n` : ".</p>\n");
}

// " of 2 of 3 requests" where not all had a first token.
const ofAnswered = row =>
    row.answered === data.requests ? "" : ` of ${grouped(row.answered)} of ${plural(data.requests, "request")}`;
const firstToken = (row, ms) => ms === null ? "-" : seconds(ms / 1000) + ofAnswered(row);

// The figures that a reader looks for first.
function tiles(at) {
  const best = bestAt(at), base = rowOf(baseline, at);
  if (!best || !base) return "";
  const needed = best === base ? null : capacityFor(baseline, best.hit_tokens);
  const all = [[percent(best.hit_rate), `of the prompt tokens are reused by ${best.policy}`]];
  if (best !== base) all.push([percent(base.hit_rate), `are reused by ${baseline}`]);
  if (best.optimum_share !== null) all.push([percentOf(best.optimum_share, 1), "of what is possible at this capacity"]);
  if (needed !== null && needed > at.tokens)
    all.push([fixed(needed / at.tokens, 1) + " times", `the memory is what ${baseline} needs for the same reuse`]);
  if (best.p95_ttft_ms !== null && base.p95_ttft_ms !== null)
    all.push([seconds(best.p95_ttft_ms / 1000), `to the first token at the 95th percentile${ofAnswered(best)} (${baseline}: ${
        seconds(base.p95_ttft_ms / 1000)}${ofAnswered(base)})`]);
  return `<p class="advice">${html(advice(at)).replaceAll(" %", "&nbsp;%")}</p>\n<ul class="tiles">\n${
      all.map(([figure, words]) => `<li><b>${html(figure)}</b> ${html(words)}</li>\n`).join("")}</ul>\n`;
}

// Time by tiers.recompute of the engine's file, and by the simulated server of --mode timed.
function timeTable(at) {
  const rows = rowsAt(data.policies, at), first = data.policies[0], base = rowOf(first, at);
  const columns = [];
  if (rows.some(row => row.prefill_seconds !== null))
    columns.push(
        ["GPU time of prefill", row => duration(row.prefill_seconds)],
        ["saved against " + first, row => row === base ? "-" : percent(1 - row.prefill_seconds / base.prefill_seconds)]);
  if (data.timed)
    columns.push(["First token, median", row => firstToken(row, row.p50_ttft_ms)],
                 ["95th percentile", row => firstToken(row, row.p95_ttft_ms)]);
  return columns.length ? table("time", ["Policy", ...columns.map(([name]) => html(name))],
                                rows.map(row => [html(row.policy), ...columns.map(([, cell]) => cell(row))])) :
                          "";
}

// `speed`: prompt tokens that one GPU computes per second; `price`: its cost per hour; not a number: not given. Where the
// engine's file says what computing takes, that counts instead of the speed.
function savingsTable(at, speed, price) {
  const base = rowOf(baseline, at), rows = rowsAt(data.policies, at);
  const measured = rows.every(row => row.prefill_seconds !== null);
  const hours = row => measured ? -row.prefill_seconds / 3600 : row.hit_tokens / speed / 3600;
  const more = row => base ? hours(row) - hours(base) : NaN;
  // The time of prefill of a simulated server is that of the whole trace.
  const month = months(measured && data.timed ? data.trace_seconds : data.counted_seconds);
  const heading = ["Policy", "Tokens not computed again", "more than " + html(baseline ?? "")];
  const has_hours = measured || speed > 0, has_money = has_hours && price >= 0 && month !== null;
  if (has_hours) heading.push("GPU hours saved against " + html(baseline ?? ""));
  if (has_money) heading.push("Money in 30 days like this");
  return table("savings", heading, rows.map(row => {
    const cells = [html(row.policy), grouped(row.hit_tokens),
                   !base || row === base ? "-" : whole.format(row.hit_tokens - base.hit_tokens)];
    if (has_hours) cells.push(row === base ? "-" : fine.format(more(row)));
    if (has_money) cells.push(row === base ? "-" : whole.format(more(row) * price * month));
    return cells;
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
                          knowsRegret(row) ? grouped(row.regret.tokens) : "not known",
                          knowsRegret(row) ? percentOf(row.regret.tokens, data.prompt_tokens) : "-"])) +
      (charts                                       ? `<div class="small-charts">${charts}</div>\n` :
       rowsAt(policies, at).every(knowsRegret) ? "<p>No evicted token was requested again.</p>\n" :
                                                      "");
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
                           "fairness", ["Policy", "Mean of all tenants", "Worst tenant", "Its hit rate", "Jain's index"],
                           rows.map(
                               ({policy, fairness}) =>
                                   [html(policy), percent(fairness.mean_hit_rate), html(fairness.worst), percent(fairness.worst_hit_rate),
                                    fairness.jain >= 0.9995 && fairness.jain < 1 - 1e-9 ? "&gt; 0.999" : fairness.jain.toFixed(3)])) +
          '<p class="small">Jain\'s index of the hit rates of all namespaces: 1 if they are equal, 1/n if only one of ' +
          "n hits.</p>\n" :
                       "";
}

function reproduce() {
  const rows = data.rows.filter(row => row.index_seconds !== null)
                   .flatMap(row => (row.by_seed || [row]).map(run => ({row, run})))
                   .map(
                       ({row, run}) =>
                           [html(row.policy), row.capacity_tokens === null ? "no limit" : grouped(row.capacity_tokens),
                            `<code>${run.digest}</code>`, String(run.seed), run === row ? seconds(row.index_seconds) : "-"]);
  const took = data.seconds > 0 ? ` It took ${duration(data.seconds)} with ${plural(data.jobs, "run")} at once.` : "";
  const built = data.canopy.version + (data.canopy.commit ? `, commit ${data.canopy.commit}` : "");
  return `<pre>${html(data.command)}</pre>\n<p>canopy ${html(built)}; hash of the trace <code>${data.trace_hash}</code>. ` +
      `The same command gives the same digests on every machine; ` +
      `${plural(data.ledger_checks, "check")} of the ledger were made, ${grouped(data.violations)} failed.${
             took}</p>\n` +
      "<details><summary>Digests</summary>\n" +
      (rows.length ? table("digests", ["Policy", "Capacity", "Digest of the run", "Seed", "Time in the index"], rows) :
                     "") +
      "</details>\n";
}

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
  const legend = '<p class="legend">' +
      policies.map(name => `<span>${keyOf(styleOf(name))}${html(name)}</span> `).join("") + "</p>\n";
  const options =
      capacities.map(at => `<option value="${at.i}"${at === telling ? " selected" : ""}>${html(at.words)}</option>`)
          .join("");
  const measured = data.rows.some(row => row.prefill_seconds !== null);
  const field = (id, before, after) => `<label>${before} <input id="${
      id}" type="number" min="0" step="any" placeholder="your figure"> ${after}</label>`;
  return `<header><h1>Eviction policies on ${html(data.source)}</h1><p class="small">${html(data.config)}, ` +
      `${data.blocks ? "blocks of" : "pages of"} ${grouped(data.page_size)} tokens` +
      (data.seeds.length > 1 ? `, ${plural(data.seeds.length, "seed")}` : "") +
      (data.warm_up ? `, the first ${plural(data.warm_up, "request")} not counted` : "") +
      `, made by canopy compare ${html(data.canopy.version)}</p></header>\n` + list("warnings", warnings()) +
      `<p class="choice"><label>Capacity <select id="capacity">${options}</select></label></p>\n` +
      `<section id="advice">${forEachCapacity("headline", tiles)}</section>\n` +
      '<div class="beside">' + section("hit-rate", "Hit rate over capacity", hitChart() + legend) +
      section("reading", "What it shows", list("sentences", reading())) + "</div>\n" +
      // A table of many policies needs the whole width.
      (data.policies.length > 4 ? section("figures", "All figures", figuresTable()) + '<div class="halves">' :
                                  '<div class="halves">' + section("figures", "All figures", figuresTable()) + "<div>") +
      section("time", "What it costs in time", forEachCapacity("times", timeTable)) +
      section(
             "saved", "What it saves",
             '<form class="prices">' + (measured ? "" : field("speed", "One GPU prefills", "tokens a second")) +
                 field("price", measured ? "One GPU costs" : "and costs", "an hour") + '</form>\n<p class="small">' +
                 (measured ? `GPU time follows from tiers.recompute of ${html(data.config)}, depth of the prompt included.` :
                             "Canopy knows neither figure of your servers: enter your own. A reused token is not computed " +
                          "again; the later cost of attention over it is not counted.") +
                 " Money is in the currency of the price.</p>\n" +
                 forEachCapacity("money", at => savingsTable(at, NaN, NaN))) +
      (data.policies.length > 4 ? "" : "</div>") + "</div>\n" +
      section("evicted", "What was evicted too early", legend + forEachCapacity("regret", evicted)) +
      '<div class="halves">' + section("parts", "Hit rate by kind of request", forEachCapacity("parts", parts)) +
      section("fairness", "Fairness between tenants", forEachCapacity("fairness", fairness)) + "</div>\n" +
      (capacities.some(waiting) ?
           '<section id="waiting"><details><summary><h2>What waited when the trace ended</h2></summary>\n' +
               forEachCapacity("waits", waiting) + "</details></section>\n" :
           "") +
      section("reproduce", "How to reproduce it", reproduce());
}

function start() {
  document.title = "Policies on " + data.source;
  document.getElementById("page").innerHTML = page();
  const choice = document.getElementById("capacity"), fields = document.querySelectorAll(".prices input");
  const valueOf = id => document.getElementById(id)?.valueAsNumber;  // NaN without one
  const show = () => document.querySelectorAll(".at-capacity").forEach(part => {
    part.hidden = part.dataset.capacity !== choice.value;
  });
  const priceAll = () => {
    for (const part of document.querySelectorAll(".money"))
      part.querySelector(".content").innerHTML =
          savingsTable(capacities[part.dataset.capacity], valueOf("speed"), valueOf("price"));
  };
  document.querySelectorAll(".save").forEach(
      button => button.addEventListener("click", () => save(button.dataset.chart)));
  choice.addEventListener("change", show);
  fields.forEach(field => field.addEventListener("input", priceAll));
  document.querySelector(".prices").addEventListener("submit", event => event.preventDefault());
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(part => {
    part.open = true;
  }));
  show();  // a browser keeps a form's values over a reload
  priceAll();
}
if (typeof window !== "undefined") start();
