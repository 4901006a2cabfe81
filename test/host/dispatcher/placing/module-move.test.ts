/** Modules in real threads that move from a busy worker to an idle one, on a sandbox over real HTTP. */
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../../src/clock.ts"
import { ModuleHost } from "../../../../src/host/dispatcher/module-host.ts"
import type { BalancePolicy } from "../../../../src/host/dispatcher/placing/balancer.ts"
import { startHostThread } from "../../../../src/host/worker-entries.ts"
import { Sandbox } from "../../../../src/sandbox/index.ts"
import { eventually } from "../../../harness/eventually.ts"
import { patient } from "../../../harness/patience.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { buildWitness, Testimony } from "../witness.ts"

const configMap = "v1.ConfigMap"
/** As by default, but sooner. */
const soon: BalancePolicy = {
  everyMs: 50,
  windowMs: 250,
  move: { busyAbove: 0.7, idleBelow: 0.3, lastingMs: 250, leastGain: 0.1, restMs: 500, moduleRestMs: 60_000 },
}

const start = async (names: ReadonlyArray<readonly [name: string, watch: string]>) => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  const testimonies = new Map(names.map(([name]) => [name, new Testimony()]))
  const testimonyOf = (name: string): Testimony => testimonies.get(name) as Testimony
  const notes: string[] = []
  const host = new ModuleHost({
    workers: 2,
    clock: systemClock,
    random: Math.random,
    imageDirectory: temporaryDirectory(),
    unloadAfterMs: undefined,
    checkWatch: async () => undefined,
    endpoints,
    identityOf: () => endpoints,
    version: "test",
    start: startHostThread,
    policy: { balance: soon },
    onLog: (name, _stream, line) => testimonyOf(name).hear(line),
    onNote: (subject, note) => notes.push(`${subject}: ${note}`),
  })
  onTestFinished(async () => {
    await host.close()
    await sandbox.close()
  })
  const codePath = buildWitness(temporaryDirectory())
  for (const [name, watch] of names)
    await host.add({
      file: { name, abi: "rust_v1alpha1", env: [{ name: "WATCH", value: watch }], limits: {} },
      codePath,
    })
  const put = (name: string) =>
    sandbox.put(configMap, { metadata: { namespace: "shop", name }, data: { at: String(Math.random()) } })
  const statusOf = async (name: string) => (await host.statistics()).find((module) => module.name === name)
  return { sandbox, host, testimonyOf, notes, put, statusOf }
}

test("of two modules that fill a worker one moves to the idle one and goes on there: nothing is missed, repeated or forgotten", {
  timeout: patient(60_000),
}, async () => {
  const names = [
    ["first", "0b"],
    ["idle", "1"],
    ["second", "0b"],
  ] as const
  const { sandbox, host, testimonyOf, notes, put, statusOf } = await start(names)
  put("a")
  for (const [name] of names) await eventually(() => expect(testimonyOf(name).known.size).toBe(1))
  expect([(await statusOf("first"))?.worker, (await statusOf("second"))?.worker]).toEqual(["modules 1", "modules 1"])
  put("fire")
  let isOver = false
  const changes = (async () => {
    for (let count = 0; !isOver; count++) {
      put(`object-${count % 7}`)
      if (count % 5 === 0) sandbox.delete(configMap, "shop", `object-${(count * 3) % 7}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })()
  await eventually(() => expect(notes.join("\n")).toMatch(/it has moved from modules 1, which was busy, to modules 2/))
  const moved = (await host.statistics()).find(({ moves }) => moves > 0)
  expect(moved?.worker).toBe("modules 2")
  const wakeUps = moved?.instance?.wakeUps ?? 0
  await eventually(async () =>
    expect((await statusOf(moved?.name ?? ""))?.instance?.wakeUps).toBeGreaterThan(wakeUps + 100),
  )
  isOver = true
  await changes
  const { metadata } = put("last")
  for (const [name] of names) {
    const testimony = testimonyOf(name)
    await eventually(() => expect(testimony.known.get(metadata.uid)).toBe(Number(metadata.resourceVersion)))
    const last = new Map(sandbox.ledger.of(configMap).map((entry) => [entry.uid, entry]))
    const present = [...last.values()].filter(({ action }) => action === "applied")
    const states = present.map(({ uid, resourceVersion }) => [uid, Number(resourceVersion)])
    await eventually(() => expect([...testimony.known].sort()).toEqual(states.sort()))
    expect(testimony.contradictions).toEqual([])
    // Neither started nor listed again.
    expect([testimony.lives, testimony.watches]).toEqual([1, 1])
  }
  const statuses = await host.statistics()
  expect(statuses.map(({ missed, restarts }) => missed + restarts)).toEqual([0, 0, 0])
  expect(statuses.reduce((sum, { moves }) => sum + moves, 0)).toBe(1)
  const busy = host.workers().map((worker) => worker.busy > 0)
  expect(busy).toEqual([true, true])
})
