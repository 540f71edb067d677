/** Draws a report: SVG that looks the same on light and on dark pages. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { init } from "echarts";
import { SEARCH_METRIC } from "./measure.mjs";
import { RECORD_FOLDER } from "./report.mjs";

const WIDTH = 760;
const FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif";
const INK = "#24292f";
const GRID_LINE = "#e4e7eb";

const SIDE_NAMES = {
	exact: "this package, exact",
	fast: "this package, fast",
	typescript: "TypeScript, float32",
	q8: "TypeScript, q8",
	transformers4: "transformers.js 4",
};

const STORE_NAMES = {
	ours: "this package",
	typescript: "plain loops in TypeScript",
	usearch: "USearch, exact (native)",
};

const COLOURS = {
	exact: "#0b5cad",
	ours: "#0b5cad",
	fast: "#4aa3df",
	typescript: "#b5541c",
	q8: "#e3a15f",
	usearch: "#8a8f98",
	transformers4: "#8a8f98",
};

/** Writes all charts into the folder of records, and returns their files. */
export function draw(report) {
	const charts = [
		["time-by-length", 440, lengthChart(report.rows)],
		["memory-and-first-score", 300, processChart(report.rows)],
		["search-by-memory", 440, searchChart(report.stores)],
	];
	return charts.flatMap(([name, height, option]) => {
		if (!option) return [];
		const file = path.join(RECORD_FOLDER, `${name}.svg`);
		writeFileSync(file, `${render(option, height)}\n`);
		return [file];
	});
}

function render(option, height) {
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

function lengthChart(rows) {
	return curves("Time for one text", SIDE_NAMES, rows, {
		metric: "p50, ms",
		cases: /^(\d+) tokens$/,
		x: "tokens of the text",
		y: "median, ms",
	});
}

function searchChart(rows) {
	return curves("The most similar of many vectors", STORE_NAMES, rows, {
		metric: SEARCH_METRIC,
		cases: /^([\d,]+) vectors$/,
		x: "vectors of 384 numbers",
		y: "median of a search from JavaScript, µs",
	});
}

/** A line for each side or store, by the number in the names of cases. */
function curves(title, names, rows, { metric, cases, x, y }) {
	const points = rows
		.filter((row) => row.metric === metric && cases.test(row.case))
		.map(({ case: name, values }) => {
			const [, size = ""] = cases.exec(name) ?? [];
			return { size: Number(size.replaceAll(",", "")), values };
		})
		.sort((a, b) => a.size - b.size);
	if (points.length < 2) return undefined;
	const sizes = points.map(({ size }) => size);
	const measured = Object.keys(names).filter((key) => points.some(({ values }) => values[key]));
	return {
		title: titleOf(title),
		legend: {
			top: 38,
			itemWidth: 20,
			// Wide enough for fonts wider than the assumed one.
			itemGap: 20,
			textStyle: { color: INK, fontSize: 13 },
		},
		grid: { left: 84, right: 36, top: 84, bottom: 56 },
		xAxis: {
			...logarithmic(x, 30),
			logBase: sizes.every((size) => size < 1000) ? 2 : 10,
			min: sizes[0],
			max: sizes.at(-1),
		},
		yAxis: logarithmic(y, 52),
		series: measured.map((key) => ({
			type: "line",
			name: names[key],
			color: COLOURS[key],
			symbolSize: 7,
			data: points.flatMap(({ size, values }) => {
				const value = values[key];
				return value === undefined ? [] : [[size, value]];
			}),
		})),
	};
}

function processChart(rows) {
	const memory = rows.find(({ metric }) => /^peak RSS, 1 in/.test(metric));
	const first = rows.find(({ metric }) => metric.startsWith("first score"));
	if (!memory || !first) return undefined;
	const sides = Object.keys(SIDE_NAMES).filter((side) => first.values[side]);
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
		xAxis: panels.map(({ name }, gridIndex) => ({ ...numbers(name, 30), gridIndex })),
		yAxis: panels.map((_, gridIndex) => ({
			type: "category",
			data: names,
			axisTick: { show: false },
			// From top to bottom.
			inverse: true,
			gridIndex,
			axisLabel: { show: gridIndex === 0, color: INK, fontSize: 13 },
		})),
		series: panels.map(({ row }, index) => ({
			type: "bar",
			barWidth: "62%",
			label: {
				show: true,
				position: "right",
				color: INK,
				fontSize: 12,
				formatter: ({ value }) => Number(value).toFixed(0),
			},
			data: sides.map((side) => ({
				value: row.values[side] ?? "-",
				itemStyle: { color: COLOURS[side] },
			})),
			xAxisIndex: index,
			yAxisIndex: index,
		})),
	};
}

function titleOf(text) {
	const textStyle = { fontSize: 16, fontWeight: 600, color: INK };
	return { text, left: "center", top: 10, textStyle };
}

function numbers(name, nameGap) {
	return {
		type: "value",
		name,
		nameGap,
		nameLocation: "middle",
		nameTextStyle: { color: INK, fontSize: 13 },
		axisLabel: { color: INK, fontSize: 13 },
		splitLine: { lineStyle: { color: GRID_LINE } },
	};
}

function logarithmic(name, nameGap) {
	return { ...numbers(name, nameGap), type: "log" };
}
