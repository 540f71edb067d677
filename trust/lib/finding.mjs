/** The error of a finding, which says how to come upon it again. */
export function finding(error, how) {
	return new Error(`${error.message}\nfound with ${how}`, { cause: error });
}
