/**
 * Prints the differences between the sandbox and the cluster of KUBEREEL_TEST_KUBECONFIG, for development: `node
 * test/cluster/conformance/report.ts [--self] [script…]`. `--self` compares the cluster with itself: such differences
 * are random, and no script may show them. The last lines are the counts of each area.
 */

import { parseArgs } from "node:util"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { openTestCluster } from "../guard.ts"
import { describeDifference, isKnown } from "./compare.ts"
import { knownDifferences } from "./differences.ts"
import { runAll } from "./run-all.ts"
import { scripts } from "./scripts/index.ts"
import { Target } from "./target.ts"

const { values, positionals } = parseArgs({ options: { self: { type: "boolean" } }, allowPositionals: true })
const wanted = scripts.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const { connection } = await openTestCluster()
const real = new Target("cluster", connection)
const run = process.pid.toString(36)
const counts = new Map<string, { steps: number; different: number; known: number }>()

if (values.self === true) await report(new Target("cluster again", connection))
else {
  await using sandbox = await Sandbox.start({ lifecycle: true })
  await report(new Target("sandbox", { server: sandbox.url, options: {} }))
}

async function report(other: Target): Promise<void> {
  const results = runAll(real, other, wanted, run)
  for (const [script, result] of results) {
    const differences = await result.catch((cause: unknown) => {
      console.log(`${script.name}: ${String(cause)}, at ${String((cause as Error).stack)}`)
      return []
    })
    for (const entry of knownDifferences)
      if (entry.script === script.name && !differences.some((difference) => isKnown(difference, entry)))
        console.log(`${entry.script} / ${entry.step} ${entry.pointer}: is known and does not occur`)
    const known = differences.filter((difference) => knownDifferences.some((entry) => isKnown(difference, entry)))
    for (const difference of differences) if (!known.includes(difference)) console.log(describeDifference(difference))
    const count = counts.get(script.area) ?? { steps: 0, different: 0, known: 0 }
    const different = new Set(differences.filter((each) => !known.includes(each)).map(({ step }) => step))
    count.steps += script.steps.length
    count.different += different.size
    count.known += new Set(known.map(({ step }) => step)).size
    counts.set(script.area, count)
  }
  console.table(Object.fromEntries(counts))
  real.close()
  other.close()
}
