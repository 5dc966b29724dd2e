
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
// A share in per cent with its sign: with one digit, or two where one would hide that it is not 0.
const signed = share =>
    (share < 0 ? "-" : "+") + fixed(Math.abs(share) * 100, share !== 0 && Math.abs(share) * 100 < 0.1 ? 2 : 1);
const intervalOf = (interval, text) => `[${text(interval.low)}, ${text(interval.high)}]`;
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
