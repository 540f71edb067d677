/** Pages in a headless browser, and pictures of them that are compared loosely. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const { resolve } = createRequire(import.meta.url);
const axe = readFileSync(resolve("axe-core"), "utf8");

/** The pixels of a picture for each of the page. */
const SCALE = 0.2;

/** The side of a block, in pixels of the page. */
const BLOCK = 20;

/** The side of a square, in blocks. */
const SQUARE = 6;

const executablePath = process.env.KNOWLEDGEPULSE_BROWSER;

/** The reason why no page can be opened, or false. */
export const missing =
	!executablePath &&
	"no browser: run npm test on Debian, or set KNOWLEDGEPULSE_BROWSER to a Chrome or Chromium";

/** Starts the browser without a sandbox, which needs rights that a test may lack; the pages are trusted. */
export const launch = () => puppeteer.launch({ executablePath, args: ["--no-sandbox"] });

/**
 * Opens a file in a new page. `events` collects messages, errors, and requests other than for the file itself.
 */
export async function open(browser, file, { width, scheme, script = true }) {
	const page = await browser.newPage();
	const url = pathToFileURL(file).href;
	const events = [];
	page.on("request", (request) => {
		if (request.url() !== url) events.push(`request of ${request.url()}`);
	});
	page.on("console", (message) => events.push(message.text()));
	page.on("pageerror", (error) => events.push(String(error)));
	await page.setJavaScriptEnabled(script);
	await page.setViewport({ width, height: 900, deviceScaleFactor: SCALE });
	const feature = { name: "prefers-color-scheme", value: scheme };
	await page.emulateMediaFeatures([feature]);
	await page.goto(url);
	return { page, events };
}

/** Returns the rules that a page breaks, as axe-core finds, each with the elements. */
export async function violations(page) {
	await page.evaluate(axe);
	return page.evaluate(async () => {
		const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
		const runOnly = [...tags, "best-practice"];
		const found = await globalThis.axe.run({ runOnly });
		return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`);
	});
}

/** A picture of a whole page, small enough to be kept. */
export const picture = (page) => page.screenshot({ type: "webp", quality: 40, fullPage: true });

/**
 * The rows of blocks of a picture: the lightness of each block, then the tint of each (blue minus red).
 */
export async function blocksOf(browser, image) {
	const page = await browser.newPage();
	const { columns, pixels } = await page.evaluate(
		async (data, size) => {
			const image = new Image();
			image.src = `data:image/webp;base64,${data}`;
			await image.decode();
			const columns = Math.round(image.width / size);
			const rows = Math.round(image.height / size);
			const context = new OffscreenCanvas(columns, rows).getContext("2d");
			context.imageSmoothingQuality = "high";
			context.drawImage(image, 0, 0, columns, rows);
			const { data: pixels } = context.getImageData(0, 0, columns, rows);
			return { columns, pixels: Array.from(pixels) };
		},
		Buffer.from(image).toString("base64"),
		BLOCK * SCALE,
	);
	await page.close();
	const rows = [];
	for (let at = 0; at < pixels.length; at += 4) {
		const [red, green, blue] = pixels.slice(at, at + 3);
		const column = (at / 4) % columns;
		if (column === 0) rows.push(new Float64Array(2 * columns));
		rows.at(-1)[column] = (red + green + blue) / 3;
		rows.at(-1)[columns + column] = blue - red;
	}
	return rows;
}

function distance(one, other) {
	let sum = 0;
	for (let at = 0; at < one.length; at++) sum += Math.abs(one[at] - other[at]);
	return sum;
}

/**
 * Pairs the rows of two pictures in order with the least difference, because other fonts move lines. A row may
 * be paired with several.
 */
function pairsOf(ones, others) {
	const costs = ones.map(() => new Float64Array(others.length));
	const cost = (i, j) => costs[i]?.[j] ?? Infinity;
	const before = (i, j) => [
		{ i: i - 1, j: j - 1, cost: cost(i - 1, j - 1) },
		{ i: i - 1, j, cost: cost(i - 1, j) },
		{ i, j: j - 1, cost: cost(i, j - 1) },
	];
	for (const [i, one] of ones.entries())
		for (const [j, other] of others.entries()) {
			const least = Math.min(cost(i - 1, j - 1), cost(i - 1, j), cost(i, j - 1));
			costs[i][j] = distance(one, other) + (i + j === 0 ? 0 : least);
		}
	const pairs = [];
	let at = { i: ones.length - 1, j: others.length - 1 };
	while (at.i >= 0 && at.j >= 0) {
		pairs.push([ones[at.i], others[at.j]]);
		const places = before(at.i, at.j);
		at = places.reduce((least, place) => (place.cost < least.cost ? place : least));
	}
	return pairs;
}

/**
 * Returns the greatest difference between two pictures of equal width, of 255: the mean difference of
 * lightness and of tint in a square of blocks, large enough to average out single letters.
 */
export function difference(ones, others) {
	const rows = pairsOf(ones, others).map(([one, other]) =>
		one.map((value, at) => other[at] - value),
	);
	const most = (from, to) => {
		let worst = 0;
		for (let top = 0; top + SQUARE <= rows.length; top++)
			for (let left = from; left + SQUARE <= to; left++) {
				let sum = 0;
				for (const row of rows.slice(top, top + SQUARE))
					for (let at = left; at < left + SQUARE; at++) sum += row[at];
				worst = Math.max(worst, Math.abs(sum) / SQUARE ** 2);
			}
		return worst;
	};
	const columns = rows[0].length / 2;
	return { lightness: most(0, columns), tint: most(columns, 2 * columns) };
}
