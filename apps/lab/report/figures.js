
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

// Numbers as the command prints them (core/base/support/figures.cpp).

// Rounds a number that lies exactly between two to the even one, unlike toFixed.
function fixed(number, digits) {
  const text = number.toFixed(digits), rest = number.toFixed(60).split(".")[1].slice(digits);
  const up = /^50*$/.test(rest) && "13579".includes(text[text.length - 1]);
  return up ? (number - 10 ** -(digits + 3)).toFixed(digits) : text;
}
const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (number, noun) => grouped(number) + " " + noun + (number === 1 ? "" : "s");
const percent = share => fixed(share * 100, 2) + " %";
const percentOf = (part, whole) => whole ? fixed(100 * part / whole, 1) + " %" : "-";
function brief(number) {
  const units = ["", " k", " M", " G", " T"];
  let unit = 0;
  for (; number >= (unit === 0 ? 999.5 : 999.95) && unit + 1 < units.length; ++unit) number /= 1000;
  return fixed(number, unit === 0 ? 0 : 1) + units[unit];
}
function seconds(value) {
  if (value === 0) return "0 s";
  if (value >= 1) return fixed(value, 2) + " s";
  if (value >= 1e-3) return fixed(value * 1e3, 1) + " ms";
  return value >= 1e-6 ? fixed(value * 1e6, 1) + " us" : fixed(value * 1e9, value >= 1e-8 ? 0 : 1) + " ns";
}
function duration(value) {
  const whole = Math.floor(value);
  if (value < 60) return seconds(value);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` :
                        `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
}

// Text from outside for an element or a quoted attribute. Hidden characters are escapes in the data already.
const escapes = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
};
const html = text => String(text).replace(/[&<>"']/g, found => escapes[found]);

// The comparison. `style` is a policy's colour, mark and dash, the same in all charts.
const isBound = name => name === "optimum" || name === "infinite";
const policies = data.policies.filter(name => !isBound(name));
const styleOf = name => policies.indexOf(name);
const capacities = data.capacities.map((capacity, i) => ({
                                         i,
                                         tokens: capacity.tokens,
                                         name: capacity.name,
                                         words: capacity.name + (data.bytes_per_token === null ? " tokens" : ""),
                                       }));
const bySize = [...capacities].sort((a, b) => a.tokens - b.tokens);
// The policy with which the others are compared.
const baseline = policies.includes("lru") ? "lru" : policies[0];
// The infinite cache has one row for all capacities.
const rowOf = (policy, at) =>
    data.rows.find(row => row.policy === policy && (row.capacity_tokens === null || row.capacity_tokens === at.tokens));
const rowsAt = (names, at) => names.map(name => rowOf(name, at)).filter(row => row);
// The policy with the most hits, the first of equals.
const bestAt = at =>
    rowsAt(policies, at).reduce((best, row) => best && best.hit_tokens >= row.hit_tokens ? best : row, null);
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
// Number of times that the trace's duration fits into 30 days; null if the trace has no times.
const month = data.trace_seconds > 0 ? 30 * 86400 / data.trace_seconds : null;
