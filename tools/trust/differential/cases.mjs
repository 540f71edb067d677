/** Generated values to be scored: traces in every shape, and what is none. */
import fc from "fast-check";
import { anyTrace, domain } from "../../../__test__/support/arbitraries.mjs";
import { mutate, mutations } from "../../../__test__/support/mutations.mjs";
import { shapes } from "../../../__test__/support/shapes.mjs";

/** A plain trace and what is to be done with it. */
export const anyCase = fc.record({
	trace: anyTrace,
	shape: fc.oneof(
		{ weight: 6, arbitrary: fc.constant("plain") },
		{ weight: 2, arbitrary: fc.constantFrom(...Object.keys(shapes)) },
	),
	damage: fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: mutations }),
});

/** The value of a case, made anew. */
export function built({ trace, shape, damage }) {
	const plain = structuredClone(trace);
	if (damage.length > 0) return mutate(plain, damage);
	return shape === "plain" ? plain : shapes[shape](plain);
}

const weight = fc.oneof(
	fc.constantFrom(0, 0.1, 0.25, 1),
	fc.double({ min: 0, max: 1, noNaN: true }),
);

/** Weights that sum to 1, give or take as much as is allowed. */
const weights = fc
	.tuple(
		fc.array(weight, { minLength: 4, maxLength: 4 }),
		fc.constantFrom(1, 1, 1 - 9e-10, 1 + 9e-10),
	)
	.filter(([parts]) => parts.some((part) => part > 0))
	.map(([parts, total]) => {
		const sum = parts.reduce((sum, part) => sum + part);
		const [complexity, novelty, toolDiversity, outcomeConfidence] = parts.map(
			(part) => (part / sum) * total,
		);
		return { complexity, novelty, toolDiversity, outcomeConfidence };
	});

/** The option `profiles`; undefined stands for the scorer of the module. */
export const anyProfiles = fc.option(
	fc
		.array(fc.tuple(domain, weights), { maxLength: 8 })
		.map((entries) => Object.fromEntries(entries)),
	{ nil: undefined },
);
