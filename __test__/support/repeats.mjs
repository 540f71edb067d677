/** The number of repetitions of a test: `KP_TRUST=N` multiplies it by N. */

const factor = Number(process.env.KP_TRUST || 1);
if (!(factor >= 1)) throw new Error(`KP_TRUST: expected a number from 1 on, got ${factor}`);

/** Returns `count`, or a multiple of it in a long run. */
export const repeats = (count) => Math.ceil(count * factor);

/** Whether the factor is above 1: only such a run includes what takes long even once. */
export const isLongRun = factor > 1;
