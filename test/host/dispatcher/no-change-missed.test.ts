/**
 * Whatever happens to the server, to the connections, to the threads of the host and to the modules themselves: each ends with the last state of every object that it selects, was told of the end of every object that it knew, and had the changes of each object in their order.
 * Compared with the sandbox's ledger, over real HTTP, with all parts in real threads.
 */
import { expect, test } from "vitest"
import { defaultHostPolicy } from "../../../src/host/host-options.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { isThorough } from "../../harness/effort.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { seededRandom } from "../../runtime/random.ts"
import { hostOn } from "./host-on.ts"
import { buildWitness, selections, Testimony } from "./witness.ts"

const configMap = "v1.ConfigMap"
const names = ["a", "b", "c", "d", "e", "f"]
const changesPerRound = 60

/** 20 of them: two trap, one never returns, two ask for delays without end; of each selection some do nothing but watch. */
const watchOf = (index: number): string => `${index % selections.length}${["t", "t", "l", "d", "d"][index] ?? ""}`
const modules = Array.from({ length: 20 }, (_, index) => ({ name: `witness-${index}`, watch: watchOf(index) }))

/** Of all but the one that never returns: on a busy machine an innocent one overruns the default, and then waits longer than the test does. */
const deadlineMs = patient(5000)
const moduleRestart = { ...defaultHostPolicy.moduleRestart, maximumMs: 2000 }

const firstSeed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
/** Each on a host of its own, because the pauses before restarts double with each end of a thread. */
const seeds = Array.from({ length: isThorough() ? 8 : 1 }, (_, index) => firstSeed + index)

test.for(seeds)(
  "every module has seen the last state and the end of every object, over faults, kills of threads, and traps (KUBEREEL_TEST_SEED=%i)",
  {
    timeout: patient(40_000),
  },
  async (seed) => {
    const random = seededRandom(seed)
    const pick = <Value>(values: ReadonlyArray<Value>): Value => values[Math.floor(random() * values.length)] as Value
    const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
    const { faults } = sandbox
    const testimonies = new Map(modules.map(({ name }) => [name, new Testimony()]))
    const testimonyOf = (name: string): Testimony => testimonies.get(name) as Testimony
    const notes: Array<{ readonly subject: string; readonly note: string }> = []
    const host = hostOn(sandbox, {
      workers: 2,
      onLog: (name, _stream, line) => testimonyOf(name).hear(line),
      policy: { moduleRestart },
      onNote: (subject, note) => notes.push({ subject, note }),
    })
    try {
      const codePath = buildWitness(temporaryDirectory())
      await Promise.all(
        modules.map(({ name, watch }) =>
          host.add({
            file: {
              name,
              abi: "rust_v1alpha1",
              env: [{ name: "WATCH", value: watch }],
              limits: watch.endsWith("l") ? {} : { deadlineMs },
            },
            codePath,
          }),
        ),
      )
      let value = 0
      const put = (name: string, namespace: string, tier: string) =>
        sandbox.put(configMap, {
          metadata: { namespace, name, labels: { tier } },
          data: { value: String(++value), text: "x".repeat(1000) },
        })
      const change = (): void => {
        const [name, namespace] = [pick(names), pick(["shop", "lab"])]
        const exists = sandbox.get(configMap, namespace, name) !== undefined
        if (exists && random() < 0.3) sandbox.delete(configMap, namespace, name)
        // Half of them leave or enter the selection of a tier.
        if (!exists || random() < 0.8) put(name, namespace, pick(["x", "y"]))
      }
      const deeds: ReadonlyArray<() => unknown> = [
        () => host.kill("workers"),
        () => host.kill("hub"),
        () => faults.hangUp(),
        () => put("bomb", "shop", "x"),
        () => host.kill("executor"),
        () => faults.expireWatches("configmaps"),
        () => faults.respond("configmaps", 429, { times: 2 }),
        () => put("maze", "shop", "x"),
        async () => {
          await faults.refuseConnections()
          for (let count = 0; count < 20; count++) change()
          faults.forceExpired("configmaps", 1)
          await faults.acceptConnections()
        },
        () => Promise.all([host.kill("workers"), host.kill("hub")]),
        () => faults.endWatches(),
        () => Promise.all([host.kill("executor"), faults.hangUp()]),
      ]
      put("bomb", "shop", "x")
      put("maze", "shop", "x")
      for (const { name } of modules) await eventually(() => expect(testimonyOf(name).known.size).toBeGreaterThan(1))

      for (const deed of deeds) {
        for (let count = 0; count < changesPerRound; count++) {
          change()
          if (count === changesPerRound / 2) void deed()
          // So that changes, deliveries and deeds come in between each other.
          await new Promise(setImmediate)
        }
        const { metadata } = put("sign", "shop", "x")
        const { known } = testimonyOf(pick(modules.slice(5)).name)
        await eventually(() => expect(known.get(metadata.uid)).toBe(Number(metadata.resourceVersion)))
      }

      faults.clear()
      const last = new Map(sandbox.ledger.of(configMap).map((entry) => [entry.uid, entry]))
      for (const { name, watch } of modules) {
        const { namespace, labelSelector }: { namespace?: string; labelSelector?: string } =
          selections[Number(watch[0])] ?? {}
        const selected = [...last.values()].filter(
          (entry) =>
            entry.action === "applied" &&
            (namespace === undefined || entry.namespace === namespace) &&
            (labelSelector === undefined || entry.object?.metadata.labels?.tier === "x"),
        )
        const states = new Map(selected.map(({ uid, resourceVersion }) => [uid, Number(resourceVersion)]))
        const testimony = testimonyOf(name)
        await eventually(() => expect(testimony.known, name).toEqual(states))
        const isOver = testimony.everKnown.filter((uid) => !states.has(uid))
        for (const uid of isOver) expect(testimony.gone, name).toContain(uid)
        expect(testimony.contradictions, name).toEqual([])
      }
      for (const { name, watch } of modules.filter((module) => module.watch.endsWith("d"))) {
        const { ticks } = testimonyOf(name)
        await eventually(async () => {
          const status = (await host.statistics()).find((module) => module.name === name)
          const ofModule = notes.filter(({ subject }) => subject === name || subject === "executor")
          // A module that waits for its back-off is another matter than a delay that does not end.
          const story = JSON.stringify({ watch, status, notes: ofModule })
          expect(testimonyOf(name).ticks, story).toBeGreaterThan(ticks)
        })
      }
      const statuses = await host.statistics()
      expect(statuses.map(({ missed }) => missed)).toEqual(modules.map(() => 0))
      // The deeds have had their effects: how often depends on the machine, because a module whose worker is being started again is spared others.
      expect(statuses.find(({ name }) => name === "witness-2")?.isAlone).toBe(true)
      expect(Math.max(...statuses.slice(0, 2).map(({ restarts }) => restarts))).toBeGreaterThan(0)
      expect(Math.min(...modules.slice(5).map(({ name }) => testimonyOf(name).watches))).toBeGreaterThan(1)
      expect(notes.map(({ subject }) => subject)).toEqual(expect.arrayContaining(["hub", "executor"]))
      expect(faults.count("hung-up")).toBeGreaterThan(0)
      expect(faults.count("expired")).toBeGreaterThan(0)
      expect(faults.count("answered")).toBeGreaterThan(0)
    } finally {
      await host.close()
      await sandbox.close()
    }
  },
)
