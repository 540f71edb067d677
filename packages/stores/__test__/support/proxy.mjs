/** Messages of PostgreSQL, and a proxy of a server that loses answers, or adds to them. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";

/** The message of a server that ends a connection with an error. */
export function fatal(code, text) {
	const error = Buffer.from(
		`E....${["SFATAL", "VFATAL", `C${code}`, `M${text}`, ""].join("\0")}\0`,
	);
	error.writeInt32BE(error.length - 1, 1);
	return error;
}

/**
 * Starts a proxy of the server whose socket is in `folder`. While `cut` is true, it forwards requests, and ends the
 * connection instead of answering; `cuts` counts this. `appendix` is sent together with each answer, and `farewell` when
 * a client ends its connection, which resolves `ended`.
 */
export async function startProxy(folder) {
	const proxy = { cut: false, cuts: 0, appendix: Buffer.alloc(0), farewell: undefined };
	proxy.ended = new Promise((resolve) => {
		proxy.end = resolve;
	});
	const sockets = new Set();
	const server = createServer((client) => {
		const upstream = connect(join(folder, ".s.PGSQL.5432"));
		for (const socket of [client, upstream]) sockets.add(socket.on("error", () => {}));
		client.on("data", (data) => {
			// The message Terminate.
			if (data[0] !== 0x58 || !proxy.farewell) return upstream.write(data);
			client.write(proxy.farewell, () => setImmediate(proxy.end));
		});
		upstream.on("data", (data) => {
			if (!proxy.cut) return client.write(Buffer.concat([data, proxy.appendix]));
			proxy.cuts += 1;
			client.destroy();
		});
		client.on("close", () => upstream.end());
		upstream.on("close", () => client.end());
	}).listen(0);
	await once(server, "listening");
	proxy.port = server.address().port;
	proxy.stop = () => {
		for (const socket of sockets) socket.destroy();
		server.close();
	};
	return proxy;
}
