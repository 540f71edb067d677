/** Ends a process at the step of writing `KILL_AT`: before it, or, of what is appended, in its middle. */
const fs = require("node:fs");

let left = Number(process.env.KILL_AT);

for (const [object, name, isOwn = () => true] of [
	[fs, "openSync", (path) => String(path).endsWith(".partial")],
	[fs, "appendFileSync"],
	[fs, "ftruncateSync"],
	[fs, "rmSync"],
	[fs.promises, "open", (path) => path.endsWith(".tmp")],
	[fs.promises, "rename"],
]) {
	const step = object[name];
	object[name] = function (file, data, ...more) {
		const count = () => isOwn(file) && --left === 0;
		const isHalf = name === "appendFileSync" && count();
		if (isHalf) step.call(this, file, data.slice(0, data.length >> 1));
		if (isHalf || count()) process.kill(process.pid, "SIGKILL");
		return step.call(this, file, data, ...more);
	};
}
