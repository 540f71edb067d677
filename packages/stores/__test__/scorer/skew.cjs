/** To be preloaded: shifts the clock of a process, and of what its SQLite runs in, by `KP_SKEW_MS`. */
const processes = require("node:child_process");
const threads = require("node:worker_threads");

const { now } = Date;
const skewMs = Number(process.env.KP_SKEW_MS);
Date.now = () => now() + skewMs;

// What a store starts inherits nothing that is preloaded.
const { fork } = processes;
const { Worker } = threads;
const also = (options) => ({
	...options,
	execArgv: [...options.execArgv, "--require", __filename],
});
processes.fork = (file, options) => fork(file, also(options));
threads.Worker = class extends Worker {
	constructor(file, options) {
		super(file, also(options));
	}
};
