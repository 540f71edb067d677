/**
 * Frameworks of agents, each installed beside the package in a project of its own. fixtures/frameworks.mjs runs an
 * agent with one of them, looks for the calls of tools in its messages, and scores it with its recipe.
 */
import { npmInstaller } from "./installers.mjs";

const PACKAGES = {
	"AI SDK 6": ["ai@6.0.326"],
	"AI SDK 7": ["ai@7.0.173"],
	Mastra: ["@mastra/core@1.71.0", "ai@6.0.326"],
	"OpenAI Agents": ["@openai/agents-core@0.20.0"],
	LangGraph: ["@langchain/core@1.4.0", "@langchain/langgraph@1.7.3"],
};

/** Describes the inputs of tools to all of them. */
const ZOD = "zod@4.6.7";

export const frameworks = Object.entries(PACKAGES).map(([name, packages]) => ({
	name: `messages of ${name}`,
	installer: {
		...npmInstaller,
		name: `npm, ${name}`,
		install: (spec) => [...npmInstaller.install(spec), ...packages, ZOD],
	},
	form: { name: "messages", file: "frameworks.mjs", args: [name], on: ["Node 22"] },
}));
