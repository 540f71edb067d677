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
	usearch: "#8a8f98",
};

const TEXT = { color: INK, fontSize: 13 };

/** Writes all charts into the folder of records, and returns their files. */
export function draw({ rows, stores }) {
	const charts = [
		["time-by-length", 440, lengthChart(rows)],
		["memory-and-first-score", 300, processChart(rows)],
		["search-by-memory", 440, searchChart(stores)],
	];
	return charts.flatMap(([name, height, option]) => {
		if (!option) return [];
		const file = path.join(RECORD_FOLDER, `${name}.svg`);
		writeFileSync(file, `${render(option, height)}\n`);
		return [file];
	});
}

function render(option, height) {
	const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
	chart.setOption({
		animation: false,
		backgroundColor: "#ffffff",
		textStyle: { fontFamily: FONT, ...TEXT },
		...option,
	});
	const svg = chart.renderToSVGString();
	chart.dispose();
	return svg;
}

function lengthChart(rows) {
	const points = rows.filter((row) => row.metric === "p50, ms" && /^\d+ tokens$/.test(row.case));
	return curves("Time for one text", SIDE_NAMES, points, "tokens of the text", "median, ms");
}

function searchChart(rows) {
	const points = rows.filter((row) => row.metric === SEARCH_METRIC);
	const y = "median of a search from JavaScript, µs";
	return curves(
		"The most similar of many vectors",
		STORE_NAMES,
		points,
		"vectors of 384 numbers",
		y,
	);
}

/** A line for each side or store, by the number with which the names of cases begin. */
function curves(title, names, rows, x, y) {
	const points = rows
		.map((row) => ({ size: Number.parseInt(row.case.replaceAll(",", ""), 10), values: row.values }))
		.sort((a, b) => a.size - b.size);
	if (points.length < 2) return undefined;
	const sizes = points.map(({ size }) => size);
	const measured = Object.keys(names).filter((key) => points.some(({ values }) => values[key]));
	return {
		title: titleOf(title),
		// Gaps wide enough for fonts wider than the assumed one.
		legend: { top: 38, itemWidth: 20, itemGap: 20, textStyle: TEXT },
		grid: { left: 84, right: 36, top: 84, bottom: 56 },
		xAxis: {
			...axis("log", x, 30),
			logBase: sizes.every((size) => size < 1000) ? 2 : 10,
			min: sizes[0],
			max: sizes.at(-1),
		},
		yAxis: axis("log", y, 52),
		series: measured.map((key) => ({
			type: "line",
			name: names[key],
			color: COLOURS[key],
			symbolSize: 7,
			data: points
				.filter(({ values }) => values[key])
				.map(({ size, values }) => [size, values[key]]),
		})),
	};
}

function processChart(rows) {
	const memory = rows.find(({ metric }) => /^peak RSS, 1 in/.test(metric));
	const first = rows.find(({ metric }) => metric.startsWith("first score"));
	if (!memory || !first) return undefined;
	const sides = Object.keys(SIDE_NAMES).filter((side) => first.values[side]);
	const panels = [
		{ row: memory, name: "peak memory of the process, MB" },
		{ row: first, name: "from process start to first score, ms" },
	];
	return {
		title: titleOf("Memory and first score"),
		grid: panels.map((_, index) => ({ left: 152 + 300 * index, width: 250, top: 56, bottom: 56 })),
		xAxis: panels.map(({ name }, gridIndex) => ({ ...axis("value", name, 30), gridIndex })),
		yAxis: panels.map((_, gridIndex) => ({
			type: "category",
			data: sides.map((side) => SIDE_NAMES[side]),
			axisTick: { show: false },
			// From top to bottom.
			inverse: true,
			gridIndex,
			axisLabel: { show: gridIndex === 0, ...TEXT },
		})),
		series: panels.map(({ row }, index) => ({
			type: "bar",
			barWidth: "62%",
			label: {
				...TEXT,
				show: true,
				position: "right",
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

function axis(type, name, nameGap) {
	return {
		type,
		name,
		nameGap,
		nameLocation: "middle",
		nameTextStyle: TEXT,
		axisLabel: TEXT,
		splitLine: { lineStyle: { color: GRID_LINE } },
	};
}
