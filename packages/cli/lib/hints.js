/** Domains that nearly name weights which they do not get. */
const { scoreWith } = require("@knowledgepulse/scoring");
const { profilesOf } = require("./session.js");
const { warn } = require("./terminal.js");

/** Any trace of a domain. */
const traceOf = (domain) => ({
	metadata: { task_domain: domain, success: true },
	task: { objective: "" },
	steps: [],
	outcome: { confidence: 0 },
});

class Hints {
	#profiles;
	#seen = new Set();
	#found = [];

	static async open({ profiles }) {
		const hints = new Hints();
		hints.#profiles = await profilesOf(profiles);
		return hints;
	}

	/** Takes the domain of a run. */
	add(domain) {
		if (this.#seen.has(domain)) return;
		this.#seen.add(domain);
		const options = { profiles: this.#profiles };
		const { hint } = scoreWith(traceOf(domain), { maxSimilarity: null }, options);
		if (hint !== null) this.#found.push(hint);
	}

	/** Says of each domain once what it may have meant. */
	warn() {
		for (const hint of this.#found) warn(hint);
	}
}

module.exports = { Hints };
