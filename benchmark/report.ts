import type { Environment } from "./environment.js";
import type { Row } from "./rows.js";
import { SHARE_COLUMNS, SIDE_COLUMNS, STORE_COLUMNS, table } from "./table.js";

/** A finished measurement, as it is recorded. */
export interface Report {
	environment: Environment;
	quick: boolean;
	/** The greatest difference of each comparison. */
	differences: Record<string, number>;
	/** By side. */
	rows: Row[];
	/** By vector store. */
	stores: Row[];
	/** Of what this machine can do at most; empty where that cannot be measured. */
	shares: Row[];
}

const NOTE =
	"Medians, and their ratios. (+): greater is better. loop: event-loop delay, with the timer's own 1 ms.";

/** The whole report as text. */
export function render(report: Report): string {
	return [
		describe(report.environment),
		`${table(report.rows, SIDE_COLUMNS)}\n${NOTE}`,
		`vector stores, 384 dimensions\n${table(report.stores, STORE_COLUMNS)}`,
		`shares of peak\n${table(report.shares, SHARE_COLUMNS)}`,
		differences(report.differences),
	].join("\n\n");
}

/** The lines that say where the numbers come from. */
function describe(environment: Environment): string {
	const list = (versions: Record<string, string>) =>
		Object.entries(versions)
			.map((entry) => entry.join(" "))
			.join(", ");
	return [
		`${environment.date}, ${environment.system}, Node.js ${environment.node}`,
		`${environment.cpu}, ${environment.cores} cores, ${environment.memoryGB} GB, load ${environment.load.toFixed(2)} before the start`,
		`ONNX Runtime: ${list(environment.onnxRuntime)}; ${list(environment.packages)}`,
	].join("\n");
}

/** The greatest differences between results, a line each. */
function differences(found: Record<string, number>): string {
	const lines = Object.entries(found).map(
		([what, difference]) => `  ${what}: ${difference.toExponential(1)}`,
	);
	return ["greatest difference between two results", ...lines].join("\n");
}
