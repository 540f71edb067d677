"use strict";
const list = document.querySelector(".runs");
const [controls, review] = document.querySelectorAll(".search");
const more = document.querySelector(".more");
const [search, order, output, keys] = controls.querySelectorAll("input, select, output");
const [decided, save] = review.children;
const [rest, buttons] = document.querySelectorAll("template");
/** How many runs are shown, and then added at a time: the browser would be slow with thousands. */
const step = list.children.length;
const runs = Array.from([...list.children, ...rest.content.children], (item) => ({
	item,
	id: JSON.parse(item.dataset.id),
	keys: JSON.parse(item.dataset.keys),
}));
/** The runs that have all the words, in their order. */
let found = runs;
let shown = step;
/** What was decided, by id: "1" is to keep, "0" to drop. */
const labels = new Map();
/** The decisions, each with the label before. */
const decisions = [];
let isSaved = true;

/** Shows the label of a run, with buttons for it. */
function mark({ id, item }) {
	if (item.children.length === 1) {
		item.append(buttons.content.firstElementChild.cloneNode(true));
		item.lastChild.ariaLabel = item.querySelector("bdi").textContent;
	}
	for (const button of item.lastChild.children) {
		button.ariaPressed = String(labels.get(id) === button.value);
		button.disabled = id === null;
		button.title = id === null ? "A run without an id cannot be labelled" : "";
	}
}

function show() {
	const some = found.slice(0, shown);
	some.forEach(mark);
	list.replaceChildren(...some.map(({ item }) => item));
	if (more) more.hidden = shown >= found.length;
}

function find() {
	const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
	const textOf = (run) => {
		run.text ??= run.item.firstChild.textContent.toLowerCase();
		return run.text;
	};
	found = runs.filter((run) => words.every((word) => textOf(run).includes(word)));
	output.value = `${found.length} of ${runs.length} runs`;
	shown = step;
	show();
}

/** Puts the greatest first, those without a value last. */
function sort() {
	const keyOf = ({ keys }) => keys[order.value] ?? Number.NEGATIVE_INFINITY;
	runs.sort((a, b) => (keyOf(a) < keyOf(b)) - (keyOf(a) > keyOf(b)));
	find();
}

/** Sets a label, or removes it. */
function setLabel(id, label) {
	labels.set(id, label);
	if (label === undefined) labels.delete(id);
	isSaved = labels.size === 0;
	const kept = Array.from(labels.values()).filter((label) => label === "1").length;
	decided.value = `${kept} keep, ${labels.size - kept} drop of ${runs.length}`;
	found.slice(0, shown).forEach(mark);
}

function decide(item, label) {
	const id = JSON.parse(item.dataset.id);
	const before = labels.get(id);
	if (id === null || label === before) return;
	decisions.push({ item, id, before });
	setLabel(id, label);
}

const focus = (item) => item?.querySelector("summary").focus();

function undo() {
	const { item, id, before } = decisions.pop() ?? {};
	if (item) setLabel(id, before);
	focus(item);
}

/** Goes to the run at this place of the list. */
function go(place) {
	if (place === list.children.length && place < found.length) more.click();
	focus(list.children[Math.max(place, 0)]);
}

const LABELS = { k: "1", d: "0" };
const MOVES = { k: 1, d: 1, j: 1, n: 1, p: -1 };

function press({ altKey, ctrlKey, key, metaKey, target }) {
	const isTyped = target === search || target === order;
	if (!keys.checked || isTyped || altKey || ctrlKey || metaKey) return;
	if (key === "u") undo();
	if (!(key in MOVES)) return;
	const item = document.activeElement.closest(".runs > li");
	if (item && key in LABELS) decide(item, LABELS[key]);
	go(item ? Array.from(list.children).indexOf(item) + MOVES[key] : 0);
}

/** A field of CSV, as in RFC 4180. */
const field = (text) => (/^\s|[",\r\n]|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** An id that no spreadsheet takes for a formula: what reads labels knows the beginning. */
const inert = (id) => (/^[=+\-@\t\r]/.test(id) ? `kp:trace:${id}` : id);

function saveLabels() {
	// Those that are not decided can be in a spreadsheet.
	const all = runs
		.filter(({ id }) => id !== null)
		.map(({ id }) => [inert(id), labels.get(id) ?? ""]);
	const lines = [["id", "label"], ...all].map(([id, label]) => `${field(id)},${label}\r\n`);
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
	link.download = "labels.csv";
	link.click();
	isSaved = true;
}

search.addEventListener("input", find);
order.addEventListener("change", sort);
more?.addEventListener("click", () => {
	shown += step;
	show();
});
list.addEventListener("click", ({ target }) => {
	if (!target.matches("[aria-pressed]")) return;
	decide(target.closest(".runs > li"), target.ariaPressed === "true" ? undefined : target.value);
});
document.addEventListener("keydown", press);
save.addEventListener("click", saveLabels);
addEventListener("beforeunload", (event) => {
	if (!isSaved) event.preventDefault();
});
setLabel();
controls.hidden = false;
review.hidden = false;
