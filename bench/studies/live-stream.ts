/**
 * Whether changes are called late that were received when they happened.
 *
 *   npx node bench/studies/live-stream.ts [minutes=60] [kubeconfig]
 *
 * Nothing fails for so long in a sandbox that plays the demo, in one with ten writes a minute and, with a kubeconfig, in that cluster for tests (ten
 * writes a minute as well). In each range that a recorder of them then calls late, a change must have been received a second or more after it
 * happened, by the truth of the sandbox or of an observer; that happens to every program for which a busy machine has no processor. If it did not happen, an
 * export with `--require all` must succeed. Ends with 1 otherwise.
 */
import { falselyLate, type LiveReport, liveCalm, liveDemo } from "../measuring/live-run.ts"

const [given = "60", cluster] = process.argv.slice(2)
const minutes = Number(given)
if (!(minutes > 0)) throw new Error(`${given}: the minutes must be a number above 0`)

const tell = (report: LiveReport): void => {
  const { name, events, late, slowestLive, exported } = report
  console.log(
    `${name}: ${events} events in ${minutes} minutes; ${late.length} ranges called late, ` +
      `${falselyLate(report).length} of them falsely; the slowest of the others took ${slowestLive.toFixed(2)} s; ` +
      `--require all ended with ${exported.code}`,
  )
  for (const { gvk, cause, delays } of late)
    console.log(`  ${gvk}, ${cause}: received after ${delays.map((delay) => delay?.toFixed(2)).join(", ")} s`)
  const isRight = falselyLate(report).length === 0 && late.length > 0 === (exported.code !== 0)
  if (!isRight) process.exitCode = 1
}

const runs = [liveDemo(minutes), liveCalm(minutes), ...(cluster === undefined ? [] : [liveCalm(minutes, cluster)])]
const told = runs.map((run) =>
  run.then(tell).catch((cause: unknown) => {
    console.error(cause)
    process.exitCode = 1
  }),
)
await Promise.all(told)
