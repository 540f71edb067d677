/** Pages in a headless browser. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const { resolve } = createRequire(import.meta.url);
const axe = readFileSync(resolve("axe-core"), "utf8");

/** The browser that `npm test` has found, or an installed Chrome. */
function pathOfBrowser() {
	try {
		return process.env.KNOWLEDGEPULSE_BROWSER || puppeteer.executablePath("chrome");
	} catch {
		return undefined;
	}
}

const executablePath = pathOfBrowser();

/** The reason why no page can be opened, or false. */
export const missing =
	!executablePath &&
	"no browser: run npm test on Debian, install Chrome, or set KNOWLEDGEPULSE_BROWSER to a Chromium";

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
	await page.setViewport({ width, height: 900 });
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
