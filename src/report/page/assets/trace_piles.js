// What piles up: made again and again over most of the events, and there at the end. All that is kept of such a line is
// one band, the lowest, however small each of its tensors is: {line, blocks, bytes}, the most bytes first.
//
//   bytes |    __---
//         |__--          made over `spread` of the events, `fewest` tensors and `share` of what is there at the end
//         +--------> events                                  (as the doctor tells them: src/doctor/leak.cc)
const PILE = { fewest: 5, spread: 0.5, share: 0.05 };

function findPiles(card) {
  const { from, freed, size, line } = card.blocks;
  const { instant, allocated } = card.stops;
  const kept = new Map();
  for (let block = 0; block < size.length; ++block) {
    if (from[block] === 0 || freed[block] < instant.length) continue;
    if (!kept.has(line[block])) kept.set(line[block], []);
    kept.get(line[block]).push(block);
  }
  const piles = [];
  for (const [name, blocks] of kept) {
    const begins = blocks.map((block) => instant[from[block]]).sort((a, b) => a - b);
    const quarter = Math.floor(begins.length / 4);
    const spread = (2 * (begins.at(-1 - quarter) - begins[quarter])) / Math.max(1, card.entries);
    const bytes = blocks.reduce((sum, block) => sum + size[block] * TRACE_UNIT, 0);
    if (blocks.length < PILE.fewest || spread < PILE.spread || bytes < PILE.share * allocated.at(-1)) continue;
    piles.push({ line: name, blocks: new Set(blocks), bytes });
  }
  return piles.sort((a, b) => b.bytes - a.bytes);
}
// The pile that each block is in: block -> its number.
function pilesByBlock(piles) {
  return new Map(piles.flatMap((pile, number) => [...pile.blocks].map((block) => [block, number])));
}
// The bytes of a pile at each place of `shown`, and of it those without a band of their own.
function heightsOf(card, pile, shown, banded) {
  const whole = new Float64Array(shown.length);
  const rest = new Float64Array(shown.length);
  for (const block of pile.blocks) {
    const begin = firstAbove(shown, card.blocks.from[block] - 1);
    if (begin === shown.length) continue;
    whole[begin] += card.blocks.size[block] * TRACE_UNIT;
    if (!banded.has(block)) rest[begin] += card.blocks.size[block] * TRACE_UNIT;
  }
  for (const heights of [whole, rest]) for (let i = 1; i < heights.length; ++i) heights[i] += heights[i - 1];
  return { whole, rest };
}
function pilesText(card, piles) {
  if (piles.length === 0) return "";
  const told = piles.map((pile) => `${pile.blocks.size} tensors of ${card.lines[pile.line]}, ${bytesText(pile.bytes)} at the end`);
  return ` Lowest, outlined: what piles up and is never freed, ${told.join("; ")}.`;
}
