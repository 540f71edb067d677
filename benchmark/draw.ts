/** Draws the charts of a record, by default the newest: node draw.js [RECORD]. */

import { draw } from "./charts.js";
import { latestRecord, read } from "./record.js";

try {
	const files = draw(read(process.argv[2] ?? latestRecord()));
	for (const file of files) console.error(`benchmark: wrote ${file}`);
} catch (error) {
	console.error(`benchmark: ${(error as Error).message}`);
	process.exitCode = 1;
}
