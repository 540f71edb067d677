/** The dependencies of a native library of macOS or Windows, read from its header. */

/**
 * Returns the libraries that a library needs, late-loaded ones included; for macOS also its own `name` and
 * the oldest supported `system`. Reads little-endian files of 64 bits, as all published ones are.
 */
export function importsOf(bytes) {
	const magic = bytes.toString("hex", 0, 4);
	if (magic === "cffaedfe") return ofMachO(bytes);
	if (magic.startsWith("4d5a")) return { libraries: ofPe(bytes) };
	throw new Error(`expected a library of macOS or Windows, got one that begins with ${magic}`);
}

const text = (bytes, at) => bytes.toString("latin1", at, bytes.indexOf(0, at));

function ofMachO(bytes) {
	const [OWN_NAME, BUILD_VERSION, MIN_VERSION] = [0x0d, 0x32, 0x24];
	// Plain, weak, re-exported, lazy and upward.
	const LIBRARIES = [0x0c, 0x80000018, 0x8000001f, 0x20, 0x80000023];
	const found = { libraries: [] };
	let at = 32;
	for (let left = bytes.readUInt32LE(16); left > 0; left--) {
		const [command, size, first] = [0, 4, 8].map((field) => bytes.readUInt32LE(at + field));
		if (LIBRARIES.includes(command)) found.libraries.push(text(bytes, at + first));
		if (command === OWN_NAME) found.name = text(bytes, at + first);
		if (command === BUILD_VERSION) found.system = version(bytes.readUInt32LE(at + 12));
		if (command === MIN_VERSION) found.system = version(first);
		at += size;
	}
	return found;
}

const version = (packed) => `${packed >> 16}.${(packed >> 8) & 0xff}`;

function ofPe(bytes) {
	const header = bytes.readUInt32LE(0x3c);
	const sections = header + 24 + bytes.readUInt16LE(header + 20);
	const count = bytes.readUInt16LE(header + 6);
	/** Returns the file offset of an address. */
	const place = (address) => {
		for (let at = sections; at < sections + count * 40; at += 40) {
			const [start, size, offset] = [12, 16, 20].map((field) => bytes.readUInt32LE(at + field));
			if (start <= address && address < start + size) return address - start + offset;
		}
		throw new Error(`expected an address in a section, got 0x${address.toString(16)}`);
	};
	// A table of entries of `size` bytes, each with the address of a name; the last one has none.
	const names = (directory, size, field) => {
		const found = [];
		const table = bytes.readUInt32LE(header + 24 + 112 + directory * 8);
		if (table === 0) return found;
		for (let at = place(table); bytes.readUInt32LE(at + field) !== 0; at += size)
			found.push(text(bytes, place(bytes.readUInt32LE(at + field))));
		return found;
	};
	return [...names(1, 20, 12), ...names(13, 32, 4)];
}
