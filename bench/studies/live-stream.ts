/**
 * Whether changes are called late that were received when they happened.
 *
 *   node bench/studies/live-stream.ts [minutes=60] [kubeconfig]
 *
 * Nothing fails for so long in a sandbox that plays the demo, in one with ten writes a minute and, with a kubeconfig, in that cluster for tests (ten
 * writes a minute as well): a recorder of each must know of no late change, and export with `--require all`. Ends with 1 otherwise. What else
 * the machine does is part of the test: a process that waits for a processor for seconds makes an honest recorder late.
 */
import { type LiveReport, liveCalm, liveDemo } from "../measuring/live-run.ts"

const [given = "60", cluster] = process.argv.slice(2)
const minutes = Number(given)
if (!(minutes > 0)) throw new Error(`${given}: the minutes must be a number above 0`)

const runs = [liveDemo(minutes), liveCalm(minutes), ...(cluster === undefined ? [] : [liveCalm(minutes, cluster)])]

const describeReport = ({ name, events, lateEvents, lateRanges, exported }: LiveReport): string =>
  [
    `${name}: ${events} events in ${minutes} minutes, ${lateEvents} late, in ${lateRanges.length} ranges; --require all ended with ${exported.code}`,
    ...lateRanges.map((range) => `  ${JSON.stringify(range)}`),
    ...(exported.code === 0 ? [] : [exported.messages]),
  ].join("\n")

for (const outcome of await Promise.allSettled(runs)) {
  if (outcome.status === "rejected") {
    console.error(outcome.reason)
    process.exitCode = 1
    continue
  }
  const { lateEvents, lateRanges, exported } = outcome.value
  console.log(describeReport(outcome.value))
  if (lateEvents !== 0 || lateRanges.length > 0 || exported.code !== 0) process.exitCode = 1
}
