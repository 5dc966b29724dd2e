
// Line charts as SVG. A line: {name, points: [{at, value, tip}]}, `at` from 0 to 1.

const colours = 6;

// A round step that divides `most` into three to six.
function stepOf(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  return [1, 2, 2.5, 5, 10].map(factor => factor * power).find(step => most / step <= 6) || 10 * power;
}

const styleClass = style => `s${style % colours}${style >= colours ? " dashed" : ""}`;
const lineClass = line => line.hatched ? "bound" : isBound(line.name) ? "bound far" : styleClass(styleOf(line.name));

// A mark with its own shape: some readers cannot distinguish the colours.
function mark(style, x, y) {
  const path = (dx, dy, rest) => `<path d="M${(x + dx).toFixed(1)} ${(y + dy).toFixed(1)}${rest}z"/>`;
  return [
    `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4.5"/>`, path(-4, -4, "h8v8h-8"), path(0, -5.6, "l5 8.6h-10"),
    path(0, -5.5, "l5.5 5.5l-5.5 5.5l-5.5 -5.5"), path(0, 5.6, "l5 -8.6h-10"),
    path(-1.5, -4.5, "h3v3h3v3h-3v3h-3v-3h-3v-3h3")
  ][style % colours];
}

const keyOf = style => '<svg class="key" viewBox="0 0 30 14" aria-hidden="true"><g class="' + styleClass(style) +
    `"><path class="line" d="M1 7H29"/><g class="mark">${mark(style, 15, 7)}</g></g></svg>`;

function axes(chart, frame, step) {
  const {left, right, floor} = frame;
  let out = "", free = -1e9;
  for (let value = 0; value <= frame.most * 1.0001; value += step) {
    const y = frame.y(value), name = chart.percent ? fixed(value * 100, step < 0.01 ? 1 : 0) + " %" : brief(value);
    out += `<line class="grid" x1="${left}" x2="${right}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}"/>` +
        `<text class="axis" x="${left - 8}" y="${(y + 4).toFixed(1)}" text-anchor="end">${name}</text>\n`;
  }
  for (const tick of chart.ticks) {
    const x = frame.x(tick.at), half = chart.namesAtEnds ? tick.name.length * 3.6 + 3 : 9;
    out += `<line class="tick" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${floor}" y2="${floor + 5}"/>`;
    if (x - half < free) continue;
    free = x + half;
    out += chart.namesAtEnds ?
        `<text class="axis" x="${x.toFixed(1)}" y="${floor + 20}" text-anchor="middle">${html(tick.name)}</text>\n` :
        `<text class="axis" text-anchor="end" transform="translate(${(x + 4).toFixed(1)} ${floor + 17}) rotate(-35)">${
            html(tick.name)}</text>\n`;
  }
  const name = (place, text) => text ? `<text class="name" text-anchor="middle" ${place}>${html(text)}</text>\n` : "";
  return out + name(`x="${(left + right) / 2}" y="${chart.height - 12}"`, chart.xName) +
      name(`transform="translate(15 ${(frame.top + floor) / 2}) rotate(-90)"`, chart.yName);
}

function drawLine(line, frame) {
  const x = point => frame.x(point.at).toFixed(1), y = point => frame.y(point.value).toFixed(1);
  const path = line.points.map((point, i) => `${i ? "L" : "M"}${x(point)} ${y(point)}`).join("");
  const first = line.points[0], last = line.points[line.points.length - 1];
  if (!first) return "";
  let out = line.hatched ?
      `<path class="beyond" fill="url(#hatch)" d="${path}L${x(last)} ${frame.top}L${x(first)} ${frame.top}z"/>\n` :
      "";
  out += `<g class="${lineClass(line)}"><path class="line" d="${path}"/>`;
  for (const point of line.points)
    out += '<g class="mark">' +
        (isBound(line.name) ? `<circle cx="${x(point)}" cy="${y(point)}" r="2.5"/>` :
                              mark(styleOf(line.name), frame.x(point.at), frame.y(point.value))) +
        `<title>${html(point.tip)}</title></g>`;
  return out + "</g>\n";
}

// Names at the ends of the lines, moved apart; a thin line leads to a name that was moved.
function endNames(chart, frame) {
  const step = 17, blocks = [];
  const names = chart.lines.filter(line => line.points.length)
                    .map(line => ({line, end: frame.y(line.points[line.points.length - 1].value)}))
                    .sort((a, b) => a.end - b.end);
  // Names that would overlap form a block around the middle of their ends. `sum` adds up where each would have it
  // begin.
  const begin = block =>
      Math.max(frame.top + 4, Math.min(block.sum / block.names.length, frame.floor - step * (block.names.length - 1)));
  for (const name of names) {
    blocks.push({names: [name], sum: name.end});
    while (blocks.length > 1) {
      const [above, below] = blocks.slice(-2), taken = step * above.names.length;
      if (begin(above) + taken <= begin(below)) break;
      above.sum += below.sum - taken * below.names.length;
      above.names.push(...below.names);
      blocks.pop();
    }
  }
  let out = "";
  for (const block of blocks)
    block.names.forEach(({line, end}, i) => {
      const x = frame.right, y = begin(block) + step * i;
      const shown = line.name.length > 20 ? line.name.slice(0, 19) + "..." : line.name;
      if (Math.abs(y - end) > 3)
        out += `<path class="leader" d="M${x + 8} ${end.toFixed(1)}L${x + 20} ${y.toFixed(1)}"/>`;
      out += `<text class="end ${lineClass(line)}" x="${x + 24}" y="${(y + 4).toFixed(1)}">${html(shown)}<title>${
          html(line.name)}</title></text>\n`;
    });
  return out;
}

// A chart with its caption. The y axis ends at a round number of at least `chart.most`.
function figure(chart, caption) {
  const values = chart.lines.flatMap(line => line.points.map(point => point.value));
  const most = Math.max(chart.most, ...values) || 1, step = stepOf(most), ends = chart.namesAtEnds;
  const frame = {
    left: ends ? 64 : 74,
    right: chart.width - (ends ? 190 : 20),
    top: 16,
    floor: chart.height - (ends ? 58 : 96),
    most: Math.ceil(most / step - 1e-9) * step
  };
  frame.x = at => frame.left + at * (frame.right - frame.left);
  frame.y = value => frame.floor - value / frame.most * (frame.floor - frame.top);
  const hatch = chart.lines.some(line => line.hatched) ?
      '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
          '<line class="hatch" x1="0" x2="0" y1="0" y2="7"/></pattern></defs>\n' :
      "";
  const bounds = chart.lines.filter(line => isBound(line.name)),
        others = chart.lines.filter(line => !isBound(line.name));
  return `<figure><div class="scroll"><svg id="${chart.id}" class="chart" viewBox="0 0 ${chart.width} ${
             chart.height}" role="img" ` +
      `aria-labelledby="${chart.id}-title" xmlns="http://www.w3.org/2000/svg"><title id="${chart.id}-title">${
             html(chart.title)}</title>\n` +
      hatch + axes(chart, frame, step) + [...bounds, ...others].map(line => drawLine(line, frame)).join("") +
      (ends ? endNames(chart, frame) : "") + `</svg>\n</div><figcaption>${html(caption)} ` +
      `<button class="save" type="button" data-chart="${chart.id}">Save as SVG</button></figcaption></figure>\n`;
}

// Hit rate over capacity, with the optimum and the infinite cache as upper bounds.
function hitChart() {
  const from = Math.log(bySize[0].tokens), span = Math.log(bySize[bySize.length - 1].tokens) - from;
  const place = at => span > 0 ? (Math.log(at.tokens) - from) / span : 0.5;
  const lines = data.policies.map(name => ({
                                    name,
                                    points: bySize.filter(at => rowOf(name, at)).map(at => {
                                      const row = rowOf(name, at);
                                      const share = row.optimum_share !== null && !isBound(name) ?
                                          `, ${percent(row.optimum_share)} of the optimum` :
                                          "";
                                      return {
                                        at: place(at),
                                        value: row.hit_rate,
                                        tip: `${name} at ${at.words}: ${percent(row.hit_rate)} of the prompt tokens, ${
                                            grouped(row.hit_tokens)} tokens${share}`
                                      };
                                    })
                                  }));
  const lowest = lines.find(line => line.name === "optimum") || lines.find(line => line.name === "infinite");
  if (lowest) lowest.hatched = true;
  return figure(
      {
        id: "hits",
        title: "Hit rate over capacity, for each policy",
        yName: "Prompt tokens reused",
        percent: true,
        most: 0.01,
        lines,
        xName: data.bytes_per_token === null ? "Capacity in tokens, logarithmic" :
                                               "Memory for the KV cache, logarithmic",
        namesAtEnds: true,
        width: 960,
        height: 470,
        ticks: bySize.map(at => ({at: place(at), name: at.name})),
      },
      "Share of the prompt tokens that were in the cache." +
          (lowest ? " No policy can reach the hatched area." : ""));
}

// Draws the tokens evicted too early as one histogram for all policies. Empty if there are none.
function regretChart(at, kind, title) {
  const rows = rowsAt(policies, at), bins = rows.map(row => row.regret["by_" + kind]);
  const used = bins.flatMap(all => all.flatMap((bin, i) => bin.tokens > 0 ? [i] : []));
  if (!used.length) return "";
  const first = Math.min(...used), end = Math.max(...used) + 1, last = Math.max(end - first - 1, 1);
  return figure(
      {
        id: `regret-${kind}-${at.i}`,
        title: `Tokens evicted and requested again at ${at.words}, ${title}`,
        most: 0,
        width: 480,
        height: 320,
        ticks: bins[0].slice(first, end).map((bin, i) => ({at: i / last, name: bin.name})),
        lines: rows.map(
            (row, each) => ({
              name: row.policy,
              points:
                  bins[each].slice(first, end).map((bin, i) => ({
                                                     at: i / last,
                                                     value: bin.tokens,
                                                     tip: `${row.policy}, ${bin.name}: ${grouped(bin.tokens)} tokens`
                                                   }))
            })),
      },
      title);
}
