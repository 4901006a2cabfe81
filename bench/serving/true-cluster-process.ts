/**
 * A sandbox with controllers and nodes, in its own process, that notes when each change happened. It plays the demo again and again, or lives by what
 * clients write.
 *
 * Arguments: where to write its kubeconfig, and `demo` or `nothing`. Prints `{"ready":true}`. Reads `{"truth":FILE}`: then it writes a
 * {@link TrueChange} per line to that file and prints `{"written":true}`. Ends with its standard input.
 */
import { writeFile } from "node:fs/promises"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../src/clock.ts"
import { cleanUpDemo, LocalCluster, playDemo, writeKubeconfig } from "../../src/sandbox/index.ts"
import type { TrueChange } from "../../test/cluster/late/true-times.ts"

const [kubeconfig = "", plays = "nothing"] = process.argv.slice(2)
/** ms between two rounds of the demo, as in `reel sandbox --workload demo`. */
const pauseMs = 5000

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const cluster = await LocalCluster.start({ ledger: "none" })
const changes: Array<string> = []
cluster.sandbox.observe(({ gvk, change: { type, uid, revision } }) => {
  const change: TrueChange = { gvk, uid, type, version: String(revision), micros: systemClock.wallMicros() }
  changes.push(JSON.stringify(change))
})
await writeKubeconfig(kubeconfig, cluster.sandbox.url)

const over = new AbortController()
const repeatDemo = async (): Promise<void> => {
  const { client } = cluster
  while (!over.signal.aborted) {
    await playDemo({ client, clock: systemClock, signal: over.signal, announce: () => undefined })
    await cleanUpDemo(client)
    await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => undefined)
  }
}
const life = plays === "demo" ? repeatDemo() : Promise.resolve()
say({ ready: true })

for await (const line of createInterface(process.stdin)) {
  const { truth } = JSON.parse(line) as { readonly truth: string }
  await writeFile(truth, changes.join("\n"))
  say({ written: true })
}
over.abort()
await life
await cluster.close()
