/**
 * Lower bound of the good share of all objects, from uniform draws of which `good` were good, at this confidence. It is
 * Clopper and Pearson's one-sided bound: (1 − confidence)^(1/n) when all n draws were good. Returns 0 without a draw.
 */
export function heldShareAtLeast(good: number, draws: number, confidence: number): number {
  if (good === 0) return 0;
  if (good === draws) return (1 - confidence) ** (1 / draws);
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step += 1) {
    const share = (low + high) / 2;
    if (chanceOfAtLeast(good, draws, share) < 1 - confidence) low = share;
    else high = share;
  }
  return low;
}

/** In percent, rounded down: what is said is not more than what follows. */
export function shareInWords(share: number): string {
  const digits = String(Math.floor(share * 10_000)).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)} %`;
}

/** Probability of at least `good` good draws, where each is good with probability `share`. */
function chanceOfAtLeast(good: number, draws: number, share: number): number {
  const [log, logNot] = [Math.log(share), Math.log1p(-share)];
  let logWays = 0;
  let sum = 0;
  // From all of them down: the number of ways to choose which were not.
  for (let bad = 0; bad <= draws - good; bad += 1) {
    if (bad > 0) logWays += Math.log((draws - bad + 1) / bad);
    sum += Math.exp(logWays + (draws - bad) * log + bad * logNot);
  }
  return sum;
}
