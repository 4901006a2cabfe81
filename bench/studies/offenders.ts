/**
 * What a module that misbehaves costs the others of its worker.
 *
 * node bench/studies/offenders.ts [rounds]
 *
 * Five modules and an offender share the only worker of a host. An object is created every 20 ms, and each of the five logs it; after a second
 * the offender commits its offence, with the default deadline of 500 ms for a call: it traps, writes outside its memory, asks for all memory that
 * it can have, makes 5,000 requests at once, or never returns. Latency is from the creation to the line in
 * the main thread, over sandbox, hub and worker; the object that waits longest is the cost. `unseen` counts objects that a module has
 * not seen at the end, and must be 0. Run it on an idle machine.
 *
 * Last measured (2026-11-23, 2 shared cores, Node 26.10) on a machine that was far from idle, load 25 to 30; two rounds, the worse one:
 *
 *              p50     p99   longest ms   unseen   restarts of the five
 *   nothing    1.8    18.6      36.0         0         0
 *   trap       1.4    17.2      36.8         0         0
 *   outside    1.6    22.4      34.2         0         0
 *   eat        1.4    41.2      64.2         0         0
 *   flood      1.5   399.2     449.4         0         0
 *   loop       1.8   711.5     934.2         0         5, and the offender is alone afterwards
 */
import { mkdtempSync, rmSync } from "node:fs"
import { loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../src/clock.ts"
import { ModuleHost, startHostThread } from "../../src/host/index.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { buildOddGuest } from "../../test/host/dispatcher/odd-guests.ts"
import { percentile } from "../report/statistics.ts"

const configMap = "v1.ConfigMap"
const neighbours = ["a", "b", "c", "d", "e"]
const everyMs = 20
const beforeMs = 1000
const afterMs = 4000
/** What the guest does when it sees an object of that name; `nothing` is not known to it. */
const offences = ["nothing", "trap", "outside", "eat", "flood", "loop"] as const

interface Cost {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
  readonly unseen: number
  /** Of the five, in sum. */
  readonly restarts: number
  readonly isAlone: boolean
}

const commit = async (offence: string, guest: string, loner: string): Promise<Cost> => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  const createdAt = new Map<string, number>()
  const seen = new Map(neighbours.map((name) => [name, new Set<string>()]))
  const latencies: number[] = []
  let running = 0
  const host = new ModuleHost({
    workers: 1,
    clock: systemClock,
    random: Math.random,
    checkWatch: async () => undefined,
    endpoints,
    identityOf: () => endpoints,
    version: "bench",
    start: startHostThread,
    onLog: (module, _stream, line) => {
      if (line === "run") running++
      const [type, name = ""] = line.split(" ")
      const at = createdAt.get(name)
      const ofModule = seen.get(module)
      if (type !== "ADDED" || at === undefined || ofModule === undefined || ofModule.has(name)) return
      ofModule.add(name)
      latencies.push(performance.now() - at)
    },
    onNote: () => undefined,
  })
  try {
    const add = (name: string, codePath: string) =>
      host.add({ file: { name, abi: "rust_v1alpha1", env: [], limits: {} }, codePath })
    await Promise.all([...neighbours.map((name) => add(name, guest)), add("offender", loner)])
    while (running <= neighbours.length) await sleep(10)
    await sleep(beforeMs)
    const begun = performance.now()
    let isCommitted = false
    for (let number = 0; performance.now() - begun < beforeMs + afterMs; number++) {
      const name = `object-${number}`
      createdAt.set(name, performance.now())
      sandbox.put(configMap, { metadata: { namespace: "shop", name } })
      if (!isCommitted && performance.now() - begun > beforeMs) {
        isCommitted = true
        sandbox.put(configMap, { metadata: { namespace: "lab", name: offence } })
      }
      await sleep(everyMs)
    }
    await sleep(beforeMs)
    const statuses = await host.statistics()
    return {
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      longestMs: Math.max(...latencies),
      unseen: neighbours.length * createdAt.size - latencies.length,
      restarts: statuses.filter(({ name }) => name !== "offender").reduce((sum, { restarts }) => sum + restarts, 0),
      isAlone: statuses.some(({ isAlone }) => isAlone),
    }
  } finally {
    await host.close()
    await sandbox.close()
  }
}

const rounds = Number(process.argv[2] ?? 3)
const directory = mkdtempSync(join(tmpdir(), "kubereel-offenders-"))
try {
  const [guest, loner] = [buildOddGuest(directory, "shop"), buildOddGuest(directory, "lab")]
  for (const offence of offences) {
    for (let round = 1; round <= rounds; round++) {
      const cost = await commit(offence, guest, loner)
      const ms = [cost.p50Ms, cost.p99Ms, cost.longestMs].map((value) => value.toFixed(1).padStart(7)).join(" ")
      const rest = `unseen ${cost.unseen}, restarts ${cost.restarts}${cost.isAlone ? ", offender alone" : ""}`
      console.log(`${offence.padEnd(8)} p50, p99, longest ms: ${ms}; ${rest}; load ${loadavg()[0]?.toFixed(1)}`)
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
