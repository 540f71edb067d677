import type { Environment } from "./environment.js";
import type { Row } from "./rows.js";
import { SIDES, type Side } from "./scorers.js";

const HEADER = ["case", "metric", "ours", "typescript", "ratio"];
const NOTE =
	"ratio: ours / typescript. In brackets: quartiles. Event-loop delays include the timer's own 1 ms.";

/** The lines that say where the numbers come from. */
export function describe(environment: Environment): string {
	const { onnxRuntime } = environment;
	return [
		`${environment.date}, ${environment.system}, Node.js ${environment.node}`,
		`${environment.cpu}, ${environment.cores} cores, ${environment.memoryGB} GB, load ${environment.load.toFixed(2)} before the start`,
		`ours: ONNX Runtime ${onnxRuntime.ours}`,
		`typescript: transformers.js ${environment.transformers}, ONNX Runtime ${onnxRuntime.typescript}`,
	].join("\n");
}

/** The rows as text in columns. */
export function table(rows: readonly Row[]): string {
	const cells = rows.map((row) => [
		row.case,
		row.metric,
		...SIDES.map((side) => measured(row, side)),
		row.ratio.toFixed(2),
	]);
	const widths = HEADER.map((_, column) =>
		Math.max(...[HEADER, ...cells].map((line) => line[column]?.length ?? 0)),
	);
	const lines = [HEADER, widths.map((width) => "-".repeat(width)), ...cells];
	const text = lines.map((line) =>
		line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | "),
	);
	return [...text.map((line) => line.trimEnd()), NOTE].join("\n");
}

/** The greatest differences between scores, a line each. */
export function differences(found: Record<string, number>): string {
	const lines = Object.entries(found).map(
		([what, difference]) => `  ${what}: ${difference.toExponential(1)}`,
	);
	return ["greatest difference between two scores", ...lines].join("\n");
}

function measured(row: Row, side: Side): string {
	const quartiles = row.quartiles?.[side];
	if (!quartiles) return digits(row[side]);
	return `${digits(row[side])} (${quartiles.map(digits).join("..")})`;
}

/** Three digits, but no fewer than those before the point. */
function digits(value: number): string {
	if (value >= 100) return value.toFixed(0);
	return value.toFixed(value >= 10 ? 1 : 2);
}
