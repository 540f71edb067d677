// The packages of other platforms are not installed.
declare module "@knowledgepulse/scoring-*";
