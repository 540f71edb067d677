"use strict";
const list = document.querySelector(".runs");
const controls = document.querySelector(".search");
const more = document.querySelector("button");
const [search, order, output] = controls.querySelectorAll("input, select, output");
const { content } = document.querySelector("template");
/** How many runs are shown, and then added at a time: the browser would be slow with thousands. */
const step = list.children.length;
const runs = Array.from([...list.children, ...content.children], (item) => ({
	item,
	keys: JSON.parse(item.dataset.keys),
	text: item.textContent.toLowerCase(),
}));
/** The runs that have all the words, in their order. */
let found = runs;
let shown = step;

function show() {
	list.replaceChildren(...found.slice(0, shown).map(({ item }) => item));
	if (more) more.hidden = shown >= found.length;
}

function find() {
	const words = search.value.toLowerCase().split(/\s+/);
	found = runs.filter(({ text }) => words.every((word) => text.includes(word)));
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

search.addEventListener("input", find);
order.addEventListener("change", sort);
more?.addEventListener("click", () => {
	shown += step;
	show();
});
controls.hidden = false;
