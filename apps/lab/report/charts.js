
// Line charts as SVG. A line: {name, points: [{at, value, tip}]}, `at` from 0 to 1.

const colours = 6;

// A round step that divides `most` into three to six.
function stepOf(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  return [1, 2, 2.5, 5, 10].map(factor => factor * power).find(step => most / step <= 6) || 10 * power;
}

const styleClass = style => `s${style % colours}${style >= colours ? " dashed" : ""}`;
const lineClass = line => line.bare ? "exact" : line.hatched ? "bound" : isBound(line.name) ? "bound far" : styleClass(styleOf(line.name));

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

// The lines that have a point where this one has it: they would hide each other.
const near = (line, i, lines, frame) => lines.filter(other => {
  const ours = line.points[i], theirs = other.points[i];
  return ours && theirs && ours.at === theirs.at && Math.abs(frame.y(ours.value) - frame.y(theirs.value)) < 2;
});

// Where lines coincide, each has its turn of the dashes, and their marks stand side by side.
function drawLine(line, lines, frame) {
  const x = point => frame.x(point.at).toFixed(1), y = point => frame.y(point.value).toFixed(1);
  const path = line.points.map((point, i) => `${i ? "L" : "M"}${x(point)} ${y(point)}`).join("");
  const first = line.points[0], last = line.points[line.points.length - 1], dash = 9;
  if (!first) return "";
  let out = line.hatched ?
      `<path class="beyond" fill="url(#hatch)" d="${path}L${x(last)} ${frame.top}L${x(first)} ${frame.top}z"/>\n` :
      "";
  out += `<g class="${lineClass(line)}">`;
  let alone = "", drawn = false;
  for (let i = 1; i < line.points.length; ++i) {
    const from = near(line, i - 1, lines, frame), same = near(line, i, lines, frame).filter(other => from.includes(other));
    const before = line.points[i - 1], after = line.points[i];
    if (same.length > 1) {
      out += `<path class="line shared" style="stroke-dasharray: ${dash} ${dash * (same.length - 1)}; stroke-dashoffset: ${
          dash * (same.length - same.indexOf(line))}" d="M${x(before)} ${y(before)}L${x(after)} ${y(after)}"/>`;
      drawn = false;
    } else {
      alone += (drawn ? "" : `M${x(before)} ${y(before)}`) + `L${x(after)} ${y(after)}`;
      drawn = true;
    }
  }
  if (alone) out += `<path class="line" d="${alone}"/>`;
  line.points.forEach((point, i) => {
    if (line.bare || line.plain) return;
    const same = near(line, i, lines, frame), aside = 10 * (same.indexOf(line) - (same.length - 1) / 2);
    if (point.low !== undefined)
      out += `<path class="error" d="M${x(point)} ${frame.y(point.low).toFixed(1)}V${frame.y(point.high).toFixed(1)}"/>`;
    out += '<g class="mark">' +
        (isBound(line.name) ? `<circle cx="${x(point)}" cy="${y(point)}" r="2.5"/>` :
                              mark(styleOf(line.name), frame.x(point.at) + aside, frame.y(point.value))) +
        `<title>${html(point.tip)}</title></g>`;
  });
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
  const most = Math.max(chart.most, ...values, ...chart.lines.flatMap(line => line.points.map(point => point.high || 0))) || 1, step = stepOf(most), ends = chart.namesAtEnds;
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
      hatch + axes(chart, frame, step) + [...bounds, ...others].map((line, i, all) => drawLine(line, all, frame)).join("") +
      (ends ? endNames(chart, frame) : "") + `</svg>\n</div><figcaption>${html(caption)} ` +
      `<button class="save" type="button" data-chart="${chart.id}">Save as SVG</button></figcaption></figure>\n`;
}
