/**
 * The bundle of a program that only tests start, by its file's name: `NAME.ts` of any folder that scripts/build.ts lists. A bundle starts
 * in 50 ms of CPU; from the sources it takes a second, in each of a hundred lives of the kill tests.
 */
export const testWorker = (name: string): URL => new URL(`../../dist/test-workers/${name}.js`, import.meta.url)
