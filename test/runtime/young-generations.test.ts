import { execFileSync } from "node:child_process"
import { expect, test } from "vitest"

const module = new URL("../../src/runtime/thread-priority.ts", import.meta.url).href

/** Bytes of the young generation of a main thread in which 100,000 young objects live at any time; there was a worker when `beginning` had run. */
const youngBytes = (beginning: string): number => {
  const source = `
    import { getHeapSpaceStatistics } from "node:v8"
    import { Worker } from "node:worker_threads"
    import { keepYoungGenerationsSmall } from ${JSON.stringify(module)}
    ${beginning}
    await new Promise((resolve) => new Worker("", { eval: true }).on("exit", resolve))
    const kept = []
    for (let number = 0; number < 2_000_000; number++) kept[number % 100_000] = { number }
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size)`
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "--eval", source], { encoding: "utf8", env: {} }),
  )
}

test("the main thread's young generation stays as small as a worker's, whatever survives in it", () => {
  const mebibyte = 1024 * 1024
  expect(youngBytes("")).toBeGreaterThan(8 * mebibyte)
  // Two halves of 1 MiB, and on a busy machine pages of 256 KiB that are still being scavenged: 5.25 MiB was seen once.
  expect(youngBytes("keepYoungGenerationsSmall()")).toBeLessThanOrEqual(6 * mebibyte)
})
