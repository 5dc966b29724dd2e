
// The comparison. `style` is a policy's colour, mark and dash, the same in all charts.
const isBound = name => name === "optimum" || name === "infinite";
const policies = data.policies.filter(name => !isBound(name));
const styleOf = name => policies.indexOf(name);
const capacities = data.capacities.map((capacity, i) => ({
                                         i,
                                         tokens: capacity.tokens,
                                         name: capacity.name,
                                         words: capacity.name.endsWith("%") ? `${capacity.name} (${brief(capacity.tokens)} tokens)` :
                                             data.bytes_per_token === null  ? capacity.name + " tokens" :
                                                                              capacity.name,
                                       }));
const bySize = [...capacities].sort((a, b) => a.tokens - b.tokens);
// The policies that an engine can have; the other rows are computed.
const choices = policies.filter(name => data.policy_options[name] !== null);
// The policy with which the others are compared.
const baseline = choices.includes("lru") ? "lru" : choices[0];
// The infinite cache has one row for all capacities.
const rowOf = (policy, at) =>
    data.rows.find(row => row.policy === policy && (row.capacity_tokens === null || row.capacity_tokens === at.tokens));
const rowsAt = (names, at) => names.map(name => rowOf(name, at)).filter(row => row);
// The policy with the most hits, the first of equals.
const bestAt = at =>
    rowsAt(choices, at).reduce((best, row) => best && best.hit_tokens >= row.hit_tokens ? best : row, null);
// The capacity at which the choice of a policy matters most.
function tellingCapacity() {
  let telling = capacities[0], widest = 0;
  for (const at of capacities) {
    const best = bestAt(at), base = rowOf(baseline, at);
    if (!best || !base || best.hit_tokens - base.hit_tokens <= widest) continue;
    widest = best.hit_tokens - base.hit_tokens;
    telling = at;
  }
  return telling;
}
const telling = tellingCapacity();
// Number of times that a duration fits into 30 days; null if the trace has no times.
const months = seconds => seconds > 0 ? 30 * 86400 / seconds : null;
// Whether it is known what was evicted and requested again.
const knowsRegret = row => row.regret !== null;
