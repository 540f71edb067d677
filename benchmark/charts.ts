/** Draws a report: SVG that looks the same on light and on dark pages. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { type EChartsOption, init } from "echarts";
import { RECORD_FOLDER } from "./paths.js";
import type { Report } from "./report.js";
import type { Row } from "./rows.js";
import type { Side } from "./sides.js";
import type { StoreName } from "./stores.js";

const WIDTH = 760;
const FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif";
const INK = "#24292f";
const GRID_LINE = "#e4e7eb";

const SIDE_NAMES: Record<Side, string> = {
	exact: "this package, exact",
	fast: "this package, fast",
	typescript: "TypeScript, float32",
	q8: "TypeScript, q8",
};

const STORE_NAMES: Record<StoreName, string> = {
	ours: "this package",
	typescript: "plain loops in TypeScript",
	orama: "Orama (JavaScript)",
	usearch: "USearch, exact (native)",
};

const COLOURS: Record<string, string> = {
	exact: "#0b5cad",
	ours: "#0b5cad",
	fast: "#4aa3df",
	typescript: "#b5541c",
	q8: "#e3a15f",
	orama: "#e3a15f",
	usearch: "#8a8f98",
};

/** Writes all charts into the folder of records, and returns their files. */
export function draw(report: Report): string[] {
	const charts: [string, number, EChartsOption | undefined][] = [
		["time-for-one-text", 400, timeChart(report.rows)],
		["memory-and-first-score", 300, processChart(report.rows)],
		["cache-scan", 260, cacheChart(report.stores)],
	];
	return charts.flatMap(([name, height, option]) => {
		if (!option) return [];
		const file = path.join(RECORD_FOLDER, `${name}.svg`);
		writeFileSync(file, `${render(option, height)}\n`);
		return [file];
	});
}

function render(option: EChartsOption, height: number): string {
	const size = { width: WIDTH, height };
	const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
	chart.setOption({
		animation: false,
		backgroundColor: "#ffffff",
		textStyle: { fontFamily: FONT, color: INK, fontSize: 13 },
		...option,
	});
	const svg = chart.renderToSVGString();
	chart.dispose();
	return svg;
}

function timeChart(rows: readonly Row[]): EChartsOption | undefined {
	const sizes = ["512 tokens", "128 tokens", "20 tokens"];
	const found = sizes.map((size) => find(rows, size, "p50, ms"));
	const texts = found.filter((row) => row !== undefined);
	if (texts.length === 0) return undefined;
	const sides = keysOf(SIDE_NAMES).filter((side) => texts[0]?.values[side]);
	return {
		title: titleOf("Time for one text, relative to TypeScript"),
		legend: {
			top: 38,
			itemWidth: 14,
			// Wide enough for fonts wider than the one that is guessed here.
			itemGap: 36,
			textStyle: { color: INK, fontSize: 13 },
		},
		grid: { left: 70, right: 24, top: 84, bottom: 56 },
		xAxis: categories(
			texts.map((row) => row.case),
			"length of the text",
			30,
		),
		yAxis: numbers("median; TypeScript with float32 = 1", 44),
		series: sides.map((side) => ({
			type: "bar" as const,
			name: SIDE_NAMES[side],
			color: COLOURS[side],
			barGap: "8%",
			label: label((value) => value.toFixed(2), "top"),
			data: texts.map(({ values }) =>
				quotient(values[side], values.typescript),
			),
		})),
	};
}

function processChart(rows: readonly Row[]): EChartsOption | undefined {
	const memory = rows.find(({ metric }) => /^peak RSS, 1 in/.test(metric));
	const first = rows.find(({ metric }) => metric.startsWith("first score"));
	if (!memory || !first) return undefined;
	const sides = keysOf(SIDE_NAMES).filter((side) => first.values[side]);
	const names = sides.map((side) => SIDE_NAMES[side]);
	const panels = [
		{ row: memory, name: "peak memory of the process, MB" },
		{ row: first, name: "from process start to first score, ms" },
	];
	return {
		title: titleOf("Memory and first score"),
		grid: [
			{ left: 152, width: 250, top: 56, bottom: 56 },
			{ left: 452, width: 250, top: 56, bottom: 56 },
		],
		xAxis: panels.map(({ name }, gridIndex) => ({
			...numbers(name, 30),
			gridIndex,
		})),
		yAxis: panels.map((_, gridIndex) => ({
			...listed(names),
			gridIndex,
			axisLabel: { show: gridIndex === 0, color: INK, fontSize: 13 },
		})),
		series: panels.map(({ row }, index) => ({
			...bars(sides, row),
			xAxisIndex: index,
			yAxisIndex: index,
		})),
	};
}

function cacheChart(rows: readonly Row[]): EChartsOption | undefined {
	const row = rows.find(({ metric }) => metric === "greatest cosine, µs");
	if (!row) return undefined;
	const stores = keysOf(STORE_NAMES).filter((store) => row.values[store]);
	return {
		title: titleOf(`The most similar of ${row.case} of 384 numbers`),
		grid: { left: 184, right: 60, top: 52, bottom: 56 },
		xAxis: numbers("median time of a search from JavaScript, µs", 30),
		yAxis: listed(stores.map((store) => STORE_NAMES[store])),
		series: [bars(stores, row)],
	};
}

/** One bar for each of these. */
function bars(keys: readonly string[], row: Row) {
	return {
		type: "bar" as const,
		barWidth: "62%",
		label: label((value) => value.toFixed(0), "right"),
		data: keys.map((key) => ({
			value: row.values[key] ?? "-",
			itemStyle: { color: COLOURS[key] },
		})),
	};
}

function label(format: (value: number) => string, position: "top" | "right") {
	return {
		show: true,
		position,
		color: INK,
		fontSize: 12,
		formatter: ({ value }: { value?: unknown }) => format(Number(value)),
	};
}

function titleOf(text: string) {
	const textStyle = { fontSize: 16, fontWeight: 600, color: INK } as const;
	return { text, left: "center", top: 10, textStyle };
}

function named(name: string, nameGap: number) {
	return {
		name,
		nameGap,
		nameLocation: "middle" as const,
		nameTextStyle: { color: INK, fontSize: 13 },
		axisLabel: { color: INK, fontSize: 13 },
	};
}

function numbers(name: string, nameGap: number) {
	const splitLine = { lineStyle: { color: GRID_LINE } };
	return { type: "value" as const, ...named(name, nameGap), splitLine };
}

function categories(data: string[], name: string, nameGap: number) {
	const axisTick = { show: false };
	return { type: "category" as const, data, ...named(name, nameGap), axisTick };
}

/** Categories from top to bottom. */
function listed(data: string[]) {
	return { ...categories(data, "", 0), inverse: true };
}

function find(
	rows: readonly Row[],
	name: string,
	metric: string,
): Row | undefined {
	return rows.find((row) => row.case === name && row.metric === metric);
}

/** A bar's value; what was not measured has no bar. */
function quotient(value: number | undefined, by: number | undefined) {
	return value === undefined || by === undefined ? "-" : value / by;
}

function keysOf<K extends string>(record: Record<K, string>): K[] {
	return Object.keys(record) as K[];
}
