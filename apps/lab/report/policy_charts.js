
// The charts of a comparison.

// Hit rate over capacity, with the optimum and the infinite cache as upper bounds, and the exact curve of LRU that trims
// leaves. Without that curve the axis begins and ends at the capacities that were run.
function hitChart() {
  const tokens = [...data.lru_curve, ...data.capacities.map(({tokens}) => ({capacity_tokens: tokens}))].map(
      point => point.capacity_tokens);
  const from = Math.log(Math.min(...tokens)), span = Math.log(Math.max(...tokens)) - from;
  const place = tokens => span > 0 ? (Math.log(tokens) - from) / span : 0.5;
  const lines = data.policies.map(
      name => ({
        name,
        points: bySize.filter(at => rowOf(name, at)).map(at => {
          const row = rowOf(name, at);
          const share =
              row.optimum_share !== null && !isBound(name) ? `, ${percent(row.optimum_share)} of the optimum` : "";
          return {
            at: place(at.tokens),
            value: row.hit_rate,
            ...(row.spread ? {low: row.spread.low, high: row.spread.high} : {}),
            tip: `${name} at ${at.words}: ${percent(row.hit_rate)} of the prompt tokens, ${grouped(row.hit_tokens)} tokens${
                share}`
          };
        })
      }));
  const lowest = lines.find(line => line.name === "optimum") || lines.find(line => line.name === "infinite");
  if (lowest) lowest.hatched = true;
  if (data.lru_curve.length)
    lines.push({
      name: "lru, exact",
      bare: true,
      points: data.lru_curve.map(
          point => ({at: place(point.capacity_tokens), value: point.hit_rate, tip: percent(point.hit_rate)}))
    });
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
        ticks: bySize.map(at => ({at: place(at.tokens), name: at.name.endsWith("%") ? `${at.name}, ${brief(at.tokens)}` : at.name})),
      },
      "Share of the prompt tokens that were in the cache." + (lowest ? " No policy can reach the hatched area." : "") +
          (data.lru_curve.length ? " The thin line is LRU that evicts page by page, at every capacity." : "") +
          " Dashes of several colours: these policies reuse the same.");
}

// Draws the tokens evicted too early as one histogram for all policies. Empty if there are none.
function regretChart(at, kind, title) {
  const rows = rowsAt(policies, at).filter(knowsRegret), bins = rows.map(row => row.regret["by_" + kind]);
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
