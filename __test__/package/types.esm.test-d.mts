// An ES module gets its types by the "import" condition of the package.

import * as scoring from "@knowledgepulse/scoring";
import { evaluateValue, type ReasoningTrace, type VectorCache } from "@knowledgepulse/scoring";

declare const trace: ReasoningTrace;
const score: number = await evaluateValue(trace);
const status: scoring.ScoringStatus = await scoring.warmup();
const cache: VectorCache = scoring._getLocalCache();

// @ts-expect-error there is no default export
import scoringDefault from "@knowledgepulse/scoring";

export { cache, score, scoringDefault, status };
