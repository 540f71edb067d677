/** Programs and libraries from Debian's packages, unpacked into a folder and not installed. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, fail, run } from "./run.mjs";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** The Debian mirror of this machine; undefined on other systems. */
export function mirror() {
	const printed = capture("apt-get", ["indextargets", "--format", "$(SITE)"]);
	return printed?.split("\n").find((line) => /debian\/?$/.test(line));
}

/** The record of a package that apt considers installed. */
const installed = (name, processor) =>
	`Package: ${name}\nStatus: install ok installed\nVersion: 9999\nArchitecture: ${processor}\n`;

/**
 * Unpacks packages of a release for a processor, and all that they depend on, into `folder`, and
 * runs the installation script of those in `configure`. Leaves out those in `without`, and what only
 * they depend on.
 */
export function unpack({ suite, processor, packages, without = [], configure = [] }, folder) {
	const site = mirror();
	if (!site) fail("apt-get is missing or knows no Debian mirror: run this on Debian");
	console.log(`debian: fetching ${packages.join(", ")} for ${processor}`);
	const state = join(folder, "apt");
	for (const part of ["lists/partial", "cache/archives/partial"])
		mkdirSync(join(state, part), { recursive: true });
	writeFileSync(join(state, "sources.list"), `deb [signed-by=${KEYRING}] ${site} ${suite} main\n`);
	// Apt considers nothing else installed, so that it fetches everything needed.
	const records = without.map((name) => installed(name, processor));
	writeFileSync(join(state, "status"), records.join("\n"));
	const settings = {
		"APT::Architecture": processor,
		"APT::Architectures::": processor,
		"APT::Install-Recommends": "false",
		"APT::Sandbox::User": "root",
		"Dir::Cache": join(state, "cache"),
		"Dir::Etc::SourceList": join(state, "sources.list"),
		"Dir::Etc::SourceParts": "-",
		"Dir::State::Lists": join(state, "lists"),
		"Dir::State::Status": join(state, "status"),
	};
	const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
	const quiet = { stdio: ["ignore", "ignore", "inherit"] };
	run("apt-get", [...options, "-qq", "update"], quiet);
	run("apt-get", [...options, "-qq", "-y", "--download-only", "install", ...packages], quiet);
	const archives = join(state, "cache", "archives");
	// Newer releases have these as links into usr/, and older packages write through them.
	for (const name of ["bin", "lib", "lib64", "sbin"]) link(folder, name);
	const files = readdirSync(archives).filter((name) => name.endsWith(".deb"));
	for (const file of files) run("dpkg-deb", ["--extract", join(archives, file), folder], quiet);
	for (const name of configure) {
		const file = files.find((file) => file.startsWith(`${name}_`));
		run("dpkg-deb", ["--control", join(archives, file), join(folder, "control")]);
		run("unshare", ["--map-root-user", "--root", folder, "/control/postinst", "configure"]);
		rmSync(join(folder, "control"), { recursive: true });
	}
	rmSync(state, { recursive: true });
}

function link(folder, name) {
	mkdirSync(join(folder, "usr", name), { recursive: true });
	run("ln", ["-s", `usr/${name}`, join(folder, name)]);
}
