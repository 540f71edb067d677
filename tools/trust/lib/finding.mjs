/** The error of a finding, with what is needed to reproduce it. */
export function finding(error, how) {
	return new Error(`${how}: ${error.message}`, { cause: error });
}
