/** A dozen made-up agent runs. */

const thought = (content) => ({ type: "thought", content });
const observed = (content) => ({ type: "observation", content });
const recovered = (content) => ({ type: "error_recovery", content });
const called = (name, input) => ({ type: "tool_call", tool: { name }, input });

const trace = (title, domain, objective, steps, { success = true, confidence }) => ({
	"@context": "https://openknowledgepulse.org/schema/v1",
	"@type": "ReasoningTrace",
	id: `kp:trace:demo-${title.replaceAll(" ", "-")}`,
	metadata: {
		created_at: "2026-01-01T00:00:00.000Z",
		task_domain: domain,
		success,
		quality_score: 0,
		visibility: "network",
		privacy_level: "aggregated",
	},
	task: { objective },
	steps: steps.map((step, step_id) => ({ step_id, ...step })),
	outcome: { confidence, result_summary: title },
});

const flakyTestSteps = [
	thought("The suite fails about once in twenty runs, always in the scheduler tests."),
	called("test_runner", { repeat: 50 }),
	observed("3 of 50 runs failed: expected the second job to start after the first."),
	called("code_search", { query: "setTimeout" }),
	observed("The test waits 10 ms of real time for the first job."),
	called("editor", { file: "scheduler.test.ts" }),
	observed("Replaced the wait by a fake clock that the test advances itself."),
	called("test_runner", { repeat: 500 }),
	observed("500 of 500 runs passed."),
];
const flakyTest = (title) =>
	trace(title, "code", "Find out why the scheduler tests fail now and then", flakyTestSteps, {
		confidence: 0.93,
	});

/** The steps of a long run. */
function longMigration() {
	const tables = ["users", "orders", "invoices", "refunds", "sessions", "audit"];
	const steps = [thought("Move every table to 64-bit keys without downtime, smallest first.")];
	for (const table of tables) {
		steps.push(called("psql", { statement: `copy of ${table}` }));
		steps.push(
			observed(`Copied ${table} in batches of 10,000 rows; replication lag stayed below a second.`),
		);
		steps.push(called("checksum", { table }));
		steps.push(
			table === "orders" || table === "refunds" || table === "audit"
				? recovered(
						`Checksum of ${table} differs: rows written during the copy. Replayed the change log and compared again.`,
					)
				: observed(`Checksums of ${table} agree between the old and the new table.`),
		);
	}
	steps.push(called("deploy", { step: "switch" }));
	steps.push(observed("Switched reads and writes over within one transaction per table."));
	return steps;
}

export const traces = [
	flakyTest("flaky test found"),
	flakyTest("same run again"),
	trace("long migration", "code", "Migrate the shop database to 64-bit keys", longMigration(), {
		confidence: 0.88,
	}),
	trace(
		"quarterly margin",
		"finance",
		"Explain the fall of the gross margin in the third quarter",
		[
			called("ledger_query", { quarter: "Q3" }),
			observed("Revenue rose by 4%, cost of goods by 11%."),
			called("supplier_prices", { since: "Q2" }),
			observed("Two suppliers of packaging raised prices by a fifth in July."),
			thought("Packaging explains 5.8 of the 6.4 points; the rest is freight."),
		],
		{ confidence: 0.9 },
	),
	trace(
		"hedge gone wrong",
		"finance",
		"Hedge the dollar exposure of next year's orders",
		[
			called("exposure_report"),
			observed("Net exposure is 2.1 million dollars, due between March and June."),
			called("exposure_report"),
			observed("The feed of forward rates is three days old; no quote can be trusted."),
		],
		{ success: false, confidence: 0.35 },
	),
	trace(
		"drug interaction",
		"medical",
		"Check a patient's new prescription against the medication plan",
		[
			thought("Clarithromycin is new; the plan lists simvastatin, ramipril and metformin."),
			called("interaction_database", { drugs: ["clarithromycin", "simvastatin"] }),
			observed("Contraindicated together: risk of muscle damage."),
			called("guideline_search", { topic: "alternatives to clarithromycin" }),
			observed("Azithromycin does not raise simvastatin levels; pause the statin otherwise."),
		],
		{ confidence: 0.97 },
	),
	trace(
		"unclear rash",
		"medical",
		"Suggest what could cause a rash after a hike",
		[thought("Too little is known: no photograph, no time of onset, no history of bites.")],
		{ success: false, confidence: 0.2 },
	),
	trace(
		"refund after outage",
		"customer_service",
		"A customer wants a refund for two days without service",
		[
			observed("I could not work on Monday and Tuesday, I want my money back."),
			called("account_lookup", { customer: "c-1841" }),
			observed("Business plan, availability promised: 99.9%."),
			called("incident_history", { days: 14 }),
			observed("Outage in the customer's region, 41 hours."),
			called("refund", { days: 2 }),
			observed("Refunded two days and confirmed by mail."),
		],
		{ confidence: 0.95 },
	),
	trace(
		"seat change",
		"customer_service",
		"Move a passenger to an aisle seat",
		[
			called("reservation", { code: "Q7RTX2" }),
			recovered("The reservation system timed out; asked again with a fresh session."),
			recovered("Seat 14C was taken meanwhile; searched the rows behind it."),
			recovered("The fare does not include seat choice; applied the free change of gold members."),
			called("reservation", { seat: "21C" }),
			observed("Seat 21C confirmed."),
		],
		{ confidence: 0.91 },
	),
	trace(
		"recipe for twelve",
		"cooking",
		"Scale a recipe for four people up to twelve",
		[
			thought("Everything by three, but the baking time depends on the depth of the dish."),
			called("unit_converter", { factor: 3 }),
			observed("1.2 kg flour, 750 g butter, 9 eggs."),
			thought("Two dishes of the old depth keep the baking time as it was."),
		],
		{ confidence: 0.8 },
	),
	trace(
		"one idea",
		"default",
		"How could the onboarding be shorter?",
		[thought("Ask for the team's name later.")],
		{ confidence: 0.6 },
	),
	trace("nothing done", "default", "Tidy up the shared calendar", [], {
		success: false,
		confidence: 0,
	}),
];
