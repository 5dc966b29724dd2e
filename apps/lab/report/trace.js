
// What is in a trace, before any cache: the page of `canopy trace stat --report`.

const isBound = () => false;
const order = ["infinite cache", "distinct so far", "in the window"];
const styleOf = name => Math.max(order.indexOf(name), 0);

const minutes = ms => ms < 60000 ? `${ms / 1000} s` : ms < 3600000 ? `${ms / 60000} min` : `${ms / 3600000} h`;
const inTokens = tokens => tokens < 10000 ? grouped(tokens) : brief(tokens);

// Bars: {name, share, tip}, `share` 0 to 1 of the height's figure `most`.
function bars(id, title, xName, all, caption) {
  const first = all.findIndex(bar => bar.share > 0), last = all.length - [...all].reverse().findIndex(bar => bar.share > 0);
  const used = first < 0 ? [] : all.slice(first, last);
  if (!used.length) return "";
  const step = stepOf(Math.max(...used.map(bar => bar.share)));
  const frame = {left: 74, right: 460, top: 16, floor: 210, most: Math.ceil(Math.max(...used.map(bar => bar.share)) / step) * step};
  const width = (frame.right - frame.left) / used.length;
  frame.x = at => frame.left + at * (frame.right - frame.left);
  frame.y = value => frame.floor - value / frame.most * (frame.floor - frame.top);
  const chart = {
    percent: true,
    width: 480,
    height: 320,
    xName,
    ticks: used.map((bar, i) => ({at: (i + 0.5) / used.length, name: bar.name}))
  };
  const drawn = used.map((bar, i) => {
    const y = frame.y(bar.share), x = frame.left + i * width + width * 0.1;
    return `<rect class="bar" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${(width * 0.8).toFixed(1)}" height="${
        (frame.floor - y).toFixed(1)}"><title>${html(bar.tip)}</title></rect>`;
  });
  return `<figure><div class="scroll"><svg id="${id}" class="chart" viewBox="0 0 ${chart.width} ${chart.height}" role="img" ` +
      `aria-labelledby="${id}-title" xmlns="http://www.w3.org/2000/svg"><title id="${id}-title">${html(title)}</title>\n` +
      axes(chart, frame, step) + drawn.join("\n") + `</svg>\n</div><figcaption>${html(caption)} ` +
      `<button class="save" type="button" data-chart="${id}">Save as SVG</button></figcaption></figure>\n`;
}

// The name of a bar of the JSON; `edge` names one of its ends.
function nameOf(bar, edge, counts) {
  if (bar.to === null) return `${edge(bar.from)} or more`;
  if (counts) return bar.to === bar.from + 1 ? edge(bar.from) : `${edge(bar.from)} to ${edge(bar.to - 1)}`;
  return bar.from === 0 ? `below ${edge(bar.to)}` : `${edge(bar.from)} to ${edge(bar.to)}`;
}

function histogram(id, title, xName, list, edge, whole, figure, caption, counts = false) {
  return bars(
      id, title, xName,
      list.map(bar => {
        const name = nameOf(bar, edge, counts), share = whole ? figure(bar) / whole : 0;
        return {name, share, tip: `${name}: ${percent(share)}, ${grouped(figure(bar))}`};
      }),
      caption);
}

// Lines over the time of the trace.
function overTime(id, title, yName, lines, caption, shares = false) {
  const end = data.moments[data.moments.length - 1].ms, step = stepOf(end / 60000) * 60000, ticks = [];
  for (let ms = 0; ms <= end; ms += step) ticks.push({at: ms / end, name: brief(ms / 60000)});
  return figure(
      {
        id,
        title,
        yName,
        xName: "Minutes since the first request",
        percent: shares,
        most: shares ? 0.01 : 1,
        namesAtEnds: true,
        width: 960,
        height: 380,
        ticks,
        lines: lines.map(
            ([name, value]) => ({
              name,
              plain: true,
              points: data.moments.map(
                  (moment, i) => ({at: moment.ms / end, value: value(moment, i), tip: `${minutes(moment.ms)}: ${value(moment, i)}`}))
            }))
      },
      caption);
}

function facts() {
  const tenth = data.popular.find(one => one.distinct_share === 0.1);
  const all = [
    [grouped(data.requests), `requests in ${duration(data.span_ms / 1000)}`],
    [brief(data.prompt_tokens), `prompt tokens, ${grouped(Math.round(data.prompt_tokens / Math.max(data.requests, 1)))} a request`],
    [percent(data.reused_share), `of them were in an earlier prompt, in whole units of ${plural(data.unit, "token")}`],
    [brief(data.distinct_tokens), "distinct tokens: a cache of all prompts holds them"],
    [brief(data.working_most), `distinct tokens in ${duration(data.working_window_ms / 1000)} at most`]
  ];
  if (tenth) all.push([percent(tenth.prompt_share), "of the prompt tokens come from a tenth of the distinct ones"]);
  return `<ul class="tiles">\n${all.map(([figure, words]) => `<li><b>${html(figure)}</b> ${html(words)}</li>\n`).join("")}</ul>\n`;
}

function tenants() {
  const most = 20, sorted = [...data.tenants].sort((a, b) => b.prompt_tokens - a.prompt_tokens);
  if (sorted.length < 2) return "";
  return table(
             "tenants", ["Namespace", "Requests", "Prompt tokens", "Reused"],
             sorted.slice(0, most).map(one => [html(shownName(one.namespace)), grouped(one.requests),
                                               grouped(one.prompt_tokens), percentOf(one.reused_tokens, one.prompt_tokens)])) +
      (sorted.length > most ? `<p class="small">and ${grouped(sorted.length - most)} more</p>\n` : "");
}

function page() {
  const tokens = bar => bar.tokens, requests = bar => bar.requests;
  const rate = (moment, i) => {
    const before = i ? data.moments[i - 1] : {prompt_tokens: 0, reused_tokens: 0};
    const prompts = moment.prompt_tokens - before.prompt_tokens;
    return prompts ? (moment.reused_tokens - before.reused_tokens) / prompts : 0;
  };
  const over = data.span_ms > 0 ?
      overTime("working", "Distinct tokens over time", "Tokens",
               [["distinct so far", moment => moment.distinct_tokens], ["in the window", moment => moment.working_tokens]],
               `The working set: distinct tokens in the prompts of the last ${duration(data.window_ms / 1000)}, and of all before.`) +
          overTime("rate", "Reusable share of the prompts over time", "Prompt tokens", [["infinite cache", rate]],
                   "Share of the prompt tokens that an earlier prompt had, in whole units.", true) :
      "";
  return `<header><h1>What is in ${html(data.trace)}</h1><p class="small">compared ${plural(data.unit, "token")} at once, ` +
      "before any cache; made by canopy trace stat</p></header>\n" +
      list("warnings", (data.doubts || []).map(doubt => doubt.sentence)) + facts() +
      section("time", "Over time", over ? `<div class="pair">${over}</div>` : "") +
      section("reuse", "Reuse",
              '<div class="small-charts">' +
                  histogram("gaps-time", "Reused tokens by time since their last use", "", data.gaps_ms, minutes, data.reused_tokens,
                            tokens, "Reused tokens by the time since they were last in a prompt") +
                  histogram("gaps-tokens", "Reuse distance", "", data.gaps_tokens, inTokens, data.reused_tokens, tokens,
                            "Reuse distance: reused tokens by the new tokens of the prompts in between") +
                  bars("depths", "Reusable share by depth", "",
                       data.depths.map(bar => ({
                                         name: nameOf(bar, inTokens),
                                         share: bar.tokens ? bar.reused_tokens / bar.tokens : 0,
                                         tip: `${nameOf(bar, inTokens)}: ${percentOf(bar.reused_tokens, bar.tokens)}`
                                       })),
                       "Share of the tokens at a depth in the prompt that an earlier prompt had") +
                  "</div>") +
      section("life", "Popularity and lifetime",
              '<div class="small-charts">' +
                  histogram("uses", "Distinct tokens by number of prompts", "", data.uses, grouped, data.distinct_tokens, tokens,
                            "Distinct tokens by the number of prompts that had them", true) +
                  bars("popular", "Prompt tokens of the most popular distinct tokens", "",
                       data.popular.map(one => ({
                                          name: fixed(one.distinct_share * 100, 1) + " %",
                                          share: one.prompt_share,
                                          tip: `${fixed(one.distinct_share * 100, 1)} %: ${percent(one.prompt_share)}`
                                        })),
                       "Share of all prompt tokens that the most popular part of the distinct ones makes") +
                  histogram("lifetimes", "Lifetime", "", data.lifetimes_ms, minutes, data.distinct_tokens, tokens,
                            "Lifetime: distinct tokens in several prompts, by the time from the first to the last; the others " +
                                "never return") +
                  "</div>") +
      section("requests", "Requests",
              '<div class="small-charts">' +
                  histogram("prompts", "Requests by length", "", data.prompts, inTokens, data.requests, requests,
                            "Requests by the tokens of their prompt") +
                  histogram("turns", "Requests by turn", "", data.turns, grouped, data.requests, requests,
                            "Requests by turn" + (data.turns_told ? "" : ", guessed from the prompts"), true) +
                  "</div>") +
      section("tenants", "Namespaces", tenants());
}

function start() {
  document.title = "What is in " + data.trace;
  document.getElementById("page").innerHTML = page();
  document.querySelectorAll(".save").forEach(
      button => button.addEventListener("click", () => save(button.dataset.chart)));
}
if (typeof window !== "undefined") start();
