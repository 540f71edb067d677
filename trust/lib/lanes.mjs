/** Does `count` things in order, two at a time: `work(index)` each. The first failure ends it. */
export async function inLanes(count, work) {
	let next = 0;
	const lane = async () => {
		while (next < count) {
			const index = next++;
			try {
				await work(index);
			} catch (error) {
				next = count;
				throw error;
			}
		}
	};
	await Promise.all([lane(), lane()]);
}
