/** What makes a value no trace. */

type Fields = Readonly<Record<string, unknown>>;

/** So many faults are told at most: an array can have billions of entries that are none. */
const MOST = 100;

/** The paths of the fields that do not fit; none for a trace. */
export function faultsOf(value: unknown): string[] {
	if (!isObject(value)) return ["trace"];
	const faults: string[] = [];
	for (const [name, fields] of Object.entries(PARTS)) {
		faults.push(...faultsIn(value[name], name, fields));
	}
	const { steps } = value;
	if (!Array.isArray(steps)) return [...faults, "steps"];
	for (let index = 0; index < steps.length && faults.length < MOST; index++) {
		faults.push(...faultsIn(steps[index], `steps[${index}]`, STEP));
		const tool = isObject(steps[index]) ? steps[index].tool : undefined;
		if (isObject(tool)) faults.push(...faultsIn(tool, `steps[${index}].tool`, TOOL));
	}
	return faults;
}

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === "string";
const isUndefined: Check = (value) => value === undefined;
const isNothing: Check = (value) => value === undefined || value === null;

const PARTS: Readonly<Record<string, Record<string, Check>>> = {
	metadata: {
		task_domain: isString,
		success: (value) => typeof value === "boolean",
	},
	task: { objective: isString },
	outcome: {
		confidence: (value) => typeof value === "number" && value >= 0 && value <= 1,
	},
};

const STEP: Record<string, Check> = {
	type: isString,
	content: (value) => isNothing(value) || isString(value),
	tool: (value) => isNothing(value) || isObject(value),
};

const TOOL: Record<string, Check> = {
	name: (value) => isUndefined(value) || isString(value),
};

function faultsIn(value: unknown, path: string, fields: Record<string, Check>): string[] {
	if (!isObject(value)) return [path];
	return Object.entries(fields)
		.filter(([name, fits]) => !fits(value[name]))
		.map(([name]) => `${path}.${name}`);
}

function isObject(value: unknown): value is Fields {
	return typeof value === "object" && value !== null;
}
