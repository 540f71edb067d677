/** The part of transformers.js that sentence embeddings need, over @knowledgepulse/scoring. */
const TASK = "feature-extraction";

/** Names of the model: its conversion for transformers.js, and the original. */
const MODELS = ["Xenova/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"];

/** Options of `pipeline` about loading the model. */
const LOADING = `cache_dir device dtype local_files_only progress_callback quantized revision
	session_options subfolder use_external_data_format`.split(/\s+/);

function unsupported(asked, offered) {
	return new Error(
		`${asked} is only in the real @huggingface/transformers, in whose place @knowledgepulse/scoring-transformers is installed${offered ? `: that has ${offered}` : ""}`,
	);
}

/** A value, for error messages. */
const shown = (value) => (typeof value === "string" ? JSON.stringify(value) : String(value));

function checkPipeline(task, model, options) {
	if (task !== TASK) throw unsupported(`pipeline(${shown(task)})`, `the task "${TASK}"`);
	if (!MODELS.includes(model)) throw unsupported(`the model ${shown(model)}`, MODELS[0]);
	for (const [name, value] of Object.entries(options)) {
		const fits = name === "device" ? ["cpu", "auto"].includes(value) : LOADING.includes(name);
		if (!fits && value !== null && value !== undefined)
			throw unsupported(`the option ${name}: ${shown(value)}`, "one model, which runs on the CPU");
	}
}

function checkExtraction({ pooling = "none", normalize = false, quantize }) {
	const offered = 'pooling: "mean" with normalize: true';
	if (pooling !== "mean") throw unsupported(`pooling: ${shown(pooling)}`, offered);
	if (!normalize) throw unsupported(`normalize: ${shown(normalize)}`, offered);
	if (quantize) throw unsupported(`quantize: ${shown(quantize)}`, "float32");
}

function checkTexts(texts) {
	if (texts.length === 0) throw new TypeError("expected a text or several, got an empty array");
	for (const text of texts)
		if (typeof text !== "string") throw new TypeError(`expected a text, got ${shown(text)}`);
}

/** What tensors of transformers.js have beside those here, without their rows. */
const OTHERS =
	`_getitem _subarray add add_ argmax argmin clamp clamp_ clone div div_ flatten flatten_ gt indexOf item
	location lt map map_ max mean min mul mul_ neg neg_ norm normalize normalize_ ort_tensor permute round round_ sigmoid
	sigmoid_ slice squeeze squeeze_ stride sub sub_ sum to transpose unsqueeze unsqueeze_ view`.split(
		/\s+/,
	);

/** Throws for what is {@link absent} from a tensor, and only for that: libraries look for members of their own. */
const fallback = new Proxy(Object.prototype, {
	get(target, name) {
		const isRow = name === Symbol.iterator || /^\d+$/.test(String(name));
		if (isRow || OTHERS.includes(name))
			throw unsupported(`${String(name)} of a tensor`, "tolist()");
		return Reflect.get(target, name);
	},
});

/** Rows of numbers, as transformers.js returns them. */
class Tensor {
	type = "float32";

	constructor(rows) {
		const [{ length }] = rows;
		this.dims = [rows.length, length];
		this.size = rows.length * length;
		this.data = new Float32Array(this.size);
		for (const [index, row] of rows.entries()) this.data.set(row, index * length);
	}

	tolist() {
		const [rows, length] = this.dims;
		return Array.from({ length: rows }, (_, row) =>
			Array.from(this.data.subarray(row * length, (row + 1) * length)),
		);
	}

	dispose() {}
}

Object.setPrototypeOf(Tensor.prototype, fallback);

exports.pipeline = async function pipeline(task, name, options = {}) {
	const model = name ?? MODELS[0];
	checkPipeline(task, model, options);
	// Callers expect this, not the import, to fail without an engine or a model.
	const { embed } = require("@knowledgepulse/scoring");
	await embed("");

	async function extractor(texts, options = {}) {
		checkExtraction(options);
		const all = Array.isArray(texts) ? texts : [texts];
		checkTexts(all);
		return new Tensor(await Promise.all(all.map((text) => embed(text))));
	}

	options.progress_callback?.({ status: "ready", task, model });
	// The model is shared by everything in the process.
	const parts = { model: absent("model"), tokenizer: absent("tokenizer") };
	return Object.assign(extractor, { task, dispose: async () => {}, ...parts });
};

/** Accepts settings of transformers.js, which have no effect here. */
exports.env = { backends: { onnx: { wasm: {}, webgl: {}, webgpu: {} } } };

/** An export of the real package, which throws when used. A getter would throw when a module imports another name. */
function absent(name) {
	const fail = () => {
		throw unsupported(name);
	};
	return new Proxy(class {}, { apply: fail, construct: fail, get: fail });
}

exports.AutoConfig = absent("AutoConfig");
exports.AutoModel = absent("AutoModel");
exports.AutoProcessor = absent("AutoProcessor");
exports.AutoTokenizer = absent("AutoTokenizer");
exports.Tensor = absent("Tensor");
exports.cos_sim = absent("cos_sim");
exports.dot = absent("dot");
exports.mean_pooling = absent("mean_pooling");
