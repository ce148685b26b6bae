"use strict";
// Stands before the script of every page of the site.
const size = (bytes) => {
  if (bytes < 1 << 10) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  let amount = bytes;
  while (amount >= 1024 && unit < 3) {
    amount /= 1024;
    ++unit;
  }
  return `${amount >= 100 ? amount.toFixed(0) : amount.toFixed(2)} ${units[unit]}`;
};
