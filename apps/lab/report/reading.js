
// Sentences that follow from the figures.

const inTokens = count => count < 100000 ? plural(count, "token") : brief(count) + " tokens";

// "12.3 % more than lru", "the same as lru".
function beside(ours, theirs, name) {
  if (ours === theirs) return "the same as " + name;
  if (theirs === 0) return `where ${name} reuses none`;
  return `${percent(Math.abs(ours / theirs - 1))} ${ours > theirs ? "more" : "less"} than ${name}`;
}

// Returns the capacity at which a policy would have `hits`, interpolated over the logarithm of the capacity; null outside the
// capacities that were run.
function capacityFor(policy, hits) {
  let before = null;
  for (const at of bySize) {
    const row = rowOf(policy, at);
    if (!row || row.capacity_tokens === null) continue;
    if (before && before.hit_tokens < hits && row.hit_tokens >= hits) {
      const share = (hits - before.hit_tokens) / (row.hit_tokens - before.hit_tokens);
      const from = Math.log(before.capacity_tokens);
      return Math.exp(from + share * (Math.log(row.capacity_tokens) - from));
    }
    before = row;
  }
  return null;
}

function bestSentence(at) {
  const best = bestAt(at), base = rowOf(baseline, at);
  if (!best || !base) return "";
  let text = `At ${at.words}, ${best.policy} reuses most: ${inTokens(best.hit_tokens)}, ${
      percent(best.hit_rate)} of the prompts`;
  if (best !== base) text += ", " + beside(best.hit_tokens, base.hit_tokens, baseline);
  if (best.optimum_share !== null) text += `; that is ${percent(best.optimum_share)} of the optimum`;
  return text + ".";
}

function equivalentSentence(at) {
  const best = bestAt(at);
  if (!best || best.policy === baseline) return "";
  const needed = capacityFor(baseline, best.hit_tokens);
  if (needed === null || needed <= at.tokens) return "";
  return `${baseline} needs about ${brief(needed)} tokens, ${fixed(needed / at.tokens, 1)} times as many, to reuse what ` +
      `${best.policy} reuses at ${at.words} (interpolated between the capacities that were run).`;
}

function baselineSentence(policy) {
  let ahead = 0, behind = 0, worst = 0, worstAt = capacities[0];
  for (const at of capacities) {
    const row = rowOf(policy, at), base = rowOf(baseline, at);
    if (!row || !base) continue;
    ahead += row.hit_tokens > base.hit_tokens;
    behind += row.hit_tokens < base.hit_tokens;
    const loss = base.hit_tokens > 0 ? 1 - row.hit_tokens / base.hit_tokens : 0;
    if (loss > worst) worst = loss, worstAt = at;
  }
  const all = `${capacities.length} ${capacities.length === 1 ? "capacity" : "capacities"}`;
  if (behind > 0)
    return `${policy} is behind ${baseline} at ${behind} of ${all}, by ${percent(worst)} at worst (${worstAt.name}).`;
  return ahead > 0 ? `${policy} is never behind ${baseline}, and ahead at ${ahead} of ${all}.` :
                     `${policy} reuses exactly what ${baseline} does.`;
}

// What to do at a capacity, in one sentence: the headline.
function advice(at) {
  const best = bestAt(at), base = rowOf(baseline, at);
  if (!best || !base) return "";
  const where = `at ${at.words}`, reach = `${percent(best.hit_rate)} of the prompt tokens are reused`;
  if (choices.length === 1) return `${best.policy} ${where}: ${reach}.`;
  if (best.hit_tokens === base.hit_tokens) return `Stay with ${baseline} ${where}: no policy here reuses more. ${reach}.`;
  if (base.hit_tokens === 0) return `Use ${best.policy} ${where}: ${reach}, where ${baseline} reuses none.`;
  const gain = data.policies[0] === baseline ? best.gain : null;
  // Of several seeds the interval is that of the mean gain, which is not the ratio of the sums.
  const more = `${signed(gain ? gain.mean : best.hit_tokens / base.hit_tokens - 1).replace(/^\+/, "")} % more than ${baseline}`;
  if (gain && gain.low <= 0) return `No clear winner ${where}: ${best.policy} reuses ${more}, which may be chance.`;
  return `Use ${best.policy} ${where}: it reuses ${more}${
      gain ? ` (95 % interval: ${signed(gain.low)} to ${signed(gain.high)} %)` : ""}.`;
}

function memorySentence() {
  const [from, to] = bySize.slice(-2);
  const less = rowOf(baseline, from), more = to && rowOf(baseline, to);
  if (!less || !more) return "";
  let text = `The last step of memory, from ${from.name} to ${to.words}, gains ${baseline} ` +
      `${fixed((more.hit_rate - less.hit_rate) * 100, 1)} points of hit rate`;
  if (data.infinite_tokens > 0)
    text += `; it then reuses ${percentOf(more.hit_tokens, data.infinite_tokens)} of what it would reuse without a limit`;
  return text + ".";
}

function regretSentence(at) {
  const row = rowOf(baseline, at);
  if (!row || !knowsRegret(row) || row.regret.tokens === 0) return "";
  const largest = bins => bins.reduce((most, bin) => bin.tokens > most.tokens ? bin : most, {tokens: 0});
  const age = largest(row.regret.by_age), turn = largest(row.regret.by_turn);
  let text = `At ${at.words}, ${brief(row.regret.tokens)} tokens that ${row.policy} had evicted were requested again`;
  if (age.tokens > 0) text += `, ${percentOf(age.tokens, row.regret.tokens)} of them ${age.name} after their last use`;
  if (turn.tokens > 0) text += `; ${percentOf(turn.tokens, row.regret.tokens)} by ${turn.name}`;
  return text + ".";
}

function reading() {
  let first = `${plural(data.requests - data.warm_up, "request")} with ${inTokens(data.prompt_tokens)} of prompts`;
  if (data.counted_seconds > 0) first += " in " + duration(data.counted_seconds);
  if (data.infinite_tokens > 0)
    first += `; a cache without a limit would reuse ${
        percentOf(data.infinite_tokens, data.prompt_tokens)} of them in whole ${data.blocks ? "blocks" : "pages"} of ${plural(data.page_size, "token")}`;
  const out = [first + "."];
  if (baseline === undefined) return out;
  const few = bySize.length <= 4 ? bySize : new Set([bySize[0], telling, bySize[bySize.length - 1]]);
  for (const at of few) out.push(bestSentence(at));
  out.push(
      equivalentSentence(telling), ...choices.filter(name => name !== baseline).map(baselineSentence),
      memorySentence(), regretSentence(telling));
  return out.filter(text => text);
}

// Returns what a reader must know before trusting the figures.
function warnings() {
  const out = [];
  if (data.violations > 0)
    out.push(plural(data.violations, "violation") + " of a rule that must hold: do not trust these figures.");
  out.push(...data.violation_reports || []);
  out.push(...(data.doubts || []).map(doubt => doubt.sentence));
  for (const row of data.rows)
    if (row.rejected > 0 && row.capacity_tokens !== null)
      out.push(`${row.policy} at ${grouped(row.capacity_tokens)} tokens: ${
          plural(row.rejected, "request")} did not fit and hit nothing.`);
  return out.concat(data.notes || []);
}
