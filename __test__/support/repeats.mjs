/** How often tests repeat what is generated: `KP_TRUST=N` makes it N times as often. */

const factor = Number(process.env.KP_TRUST || 1);
if (!(factor >= 1)) throw new Error(`KP_TRUST: expected a number from 1 on, got ${factor}`);

/** Returns `count`, or a multiple of it in a long run. */
export const repeats = (count) => Math.ceil(count * factor);

/** Whether this is a long run, which also does what takes long even once. */
export const isLongRun = factor > 1;
