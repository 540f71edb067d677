/** How much is measured. */
export interface Plan {
	cases: Record<string, CasePlan>;
	/** Fresh processes of each side that score one trace. */
	firstScores: number;
	/** Runs over a whole file. */
	fileRuns: FilePlan[];
}

/** How often the traces of a case are scored; from the last the count goes on at the first. */
export interface CasePlan {
	/** One at a time. */
	alone: number;
	/** Many in flight. */
	together: number;
	/** One at a time before it is the other side's turn. */
	batch: number;
}

/** Runs over a whole file, each in a fresh process. */
export interface FilePlan {
	/** How many calls wait for their score at any time. */
	inFlight: number;
	/** How many processes of each side. */
	repetitions: number;
}

/** At most four minutes on two cores. */
export const FULL: Plan = {
	cases: {
		airline: { alone: 200, together: 144, batch: 10 },
		software: { alone: 36, together: 48, batch: 9 },
		"512 tokens": { alone: 100, together: 96, batch: 10 },
		"128 tokens": { alone: 200, together: 192, batch: 25 },
		"20 tokens": { alone: 500, together: 480, batch: 100 },
		"20 tokens, full cache": { alone: 500, together: 480, batch: 100 },
	},
	firstScores: 9,
	fileRuns: [
		{ inFlight: 1, repetitions: 1 },
		{ inFlight: 8, repetitions: 3 },
	],
};

/** About forty seconds. */
export const QUICK: Plan = {
	cases: {
		airline: { alone: 16, together: 16, batch: 8 },
		software: { alone: 9, together: 16, batch: 9 },
		"512 tokens": { alone: 16, together: 16, batch: 8 },
		"128 tokens": { alone: 40, together: 48, batch: 20 },
		"20 tokens": { alone: 100, together: 96, batch: 50 },
		"20 tokens, full cache": { alone: 100, together: 96, batch: 50 },
	},
	firstScores: 5,
	fileRuns: [{ inFlight: 8, repetitions: 1 }],
};
