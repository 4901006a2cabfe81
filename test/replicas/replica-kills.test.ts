/**
 * Replicas as processes that share the shards of one cluster: killed, paused and started again under load. The streams of all shards together are what
 * happened: each change once, and in order.
 */
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { load } from "../harness/effort.ts"
import { patient, slowness } from "../harness/patience.ts"
import { type Change, differences, ledgerOf } from "../recorder/recorded/recorded-sandbox.ts"
import { restored } from "../recorder/recorded/restored-stream.ts"
import { Workload } from "../recorder/recorded/workload.ts"
import { parsePrometheusText } from "../recorder/recorder/prometheus-text.ts"
import { type RecorderProcess, until, Workplace } from "../recorder/recorder/recorder-command.ts"

const kinds = {
  "apps/v1.Deployment": "{detect: all}",
  "v1.ConfigMap": "{detect: all}",
  "batch/v1.Job": "{detect: all}",
}
const names = Object.keys(kinds)
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const shards = 4
/** On a slow machine a recorder would not renew it in time, and shards would move without a kill. */
const leaseMs = 3000 * Math.ceil(slowness())

/** Processes that this one has started. */
const childrenOf = (pid: number | undefined): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

const open = async () => {
  const place = new Workplace()
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const workload = new Workload(sandbox, names, seed)
  const address = place.path("streams")
  mkdirSync(address)
  const key = place.write("key", randomBytes(32).toString("hex"))
  const replicas = new Map<string, RecorderProcess>()
  const paused = new Set<number>()
  const signal = (pids: ReadonlyArray<number>, name: "SIGSTOP" | "SIGCONT"): void => {
    for (const pid of pids) {
      process.kill(pid, name)
      if (name === "SIGSTOP") paused.add(pid)
      else paused.delete(pid)
    }
  }
  const start = (name: string, more: ReadonlyArray<string> = []): RecorderProcess => {
    const replica = place.record({
      ...{ cluster: { server: sandbox.url }, kinds, name, dataDir: place.path(name) },
      more: [
        ...["--replicas-lease", "default/huge", "--replica-name", name, "--lease-duration", `${leaseMs / 1000}s`],
        ...[
          "--shards",
          String(shards),
          "--split",
          "deployments.apps",
          "--archive-to",
          address,
          "--archive-every",
          "1s",
        ],
        ...["--redact-key-file", key, ...more],
      ],
    })
    replicas.set(name, replica)
    return replica
  }
  /** Shards whose Lease a recorder of this replica holds. */
  const led = async (replica: RecorderProcess): Promise<ReadonlyArray<string>> => {
    const { text } = await replica.get("/metrics")
    // None before the store has said how many shards there are.
    return (text === "" ? [] : parsePrometheusText(text)).flatMap(({ name, labels, value }) =>
      name === "kubereel_leader" && value === 1 ? [labels.shard ?? ""] : [],
    )
  }
  const logs = (): string => [...replicas].map(([name, { log }]) => `--- ${name}\n${log}`).join("\n")
  /** Waits until these replicas record all shards, each so many. */
  const recorded = (by: ReadonlyArray<RecorderProcess>, loads: ReadonlyArray<number>): Promise<void> =>
    until(
      async () => {
        const all = await Promise.all(by.map(led))
        const isReady = (await Promise.all(by.map((each) => each.get("/readyz")))).every(({ status }) => status === 200)
        const found = all.map(({ length }) => length).toSorted()
        return isReady && new Set(all.flat()).size === shards && found.join() === loads.join()
      },
      () => `shards for ${loads.join(", ")}\n${logs()}`,
      60_000,
    )
  /** A stream that is not begun yet has none. */
  const ofShard = async (shard: number): Promise<ReadonlyArray<Change>> => {
    try {
      return await restored(`${address}/shard-${shard}`, names)
    } catch (error) {
      // Neither is its folder, before its recorder has begun.
      const { _tag, code } = error as { readonly _tag?: string; readonly code?: string }
      if (_tag === "NoStreamError" || code === "no-bucket") return []
      throw error
    }
  }
  const found = async (): Promise<ReadonlyArray<Change>> => {
    const all = await Promise.all(Array.from({ length: shards }, (_, shard) => ofShard(shard)))
    return all.flat().toSorted((one, other) => Number(one.resourceVersion) - Number(other.resourceVersion))
  }
  return {
    ...{ place, sandbox, workload, address, start, recorded, signal },
    /** Lets something happen in each shard that is archived: what follows is in the stream then, or still comes from the API server. */
    begun: async (): Promise<void> => {
      for (let step = 0; step < 100; step++) workload.step()
      await until(
        async () => (await found()).length >= workload.events,
        () => `the first changes\n${logs()}`,
        60_000,
      )
    },
    leases: async (): Promise<ReadonlyArray<string>> => {
      const response = await fetch(`${sandbox.url}/apis/coordination.k8s.io/v1/namespaces/default/leases`)
      const { items } = (await response.json()) as { items: ReadonlyArray<{ metadata: { name: string } }> }
      return items.map(({ metadata }) => metadata.name).toSorted()
    },
    /** Waits until the streams have as much as happened, and compares. */
    expectLedger: async (): Promise<void> => {
      workload.stop()
      const wanted = names.flatMap((gvk) => ledgerOf(sandbox, gvk))
      let changes = await found()
      await until(
        async () => {
          changes = await found()
          return changes.length >= wanted.length
        },
        () => `all of ${wanted.length} changes: ${changes.length}\n${logs()}`,
        60_000,
      )
      for (const gvk of names) expect(differences(changes, ledgerOf(sandbox, gvk), gvk)).toEqual({})
    },
    [Symbol.asyncDispose]: async () => {
      workload.stop()
      signal(
        [...paused].filter((pid) => existsSync(`/proc/${pid}`)),
        "SIGCONT",
      )
      await place.close()
      await sandbox.close()
    },
  }
}

test(`shards of a replica that is killed move, and come back with it; its recorders end with it (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  await using cluster = await open()
  const [a, b, c] = [cluster.start("a"), cluster.start("b"), cluster.start("c")] as const
  await cluster.recorded([a, b, c], [1, 1, 2])
  await cluster.begun()
  cluster.workload.start(load(400))
  const orphans = childrenOf(b.child.pid)
  expect(orphans.length).toBeGreaterThan(0)
  await b.kill()
  await until(() => orphans.every((pid) => !existsSync(`/proc/${pid}`)), "the end of its recorders", 30_000)
  await cluster.recorded([a, c], [2, 2])
  const again = cluster.start("b")
  await cluster.recorded([a, again, c], [1, 1, 2])
  await cluster.expectLedger()
  const other = cluster.start("d", ["--shards", "5"])
  expect(await other.ended).toMatchObject({ code: 2 })
  expect(other.log).toMatch(
    /shards.json: the history here has 4 shards, with Deployment.apps split, and this replica is to record 5/,
  )
  const endings = await Promise.all([a, again, c].map((each) => each.stop("SIGTERM", 60_000)))
  expect(endings.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(await cluster.leases()).toEqual(Array.from({ length: shards }, (_, shard) => `huge-shard-${shard}`))
})

test(`a replica that is paused with its recorders is taken over, and they end when they wake (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  await using cluster = await open()
  const [a, b] = [cluster.start("a"), cluster.start("b")] as const
  await cluster.recorded([a, b], [2, 2])
  await cluster.begun()
  cluster.workload.start(load(400))
  const paused = [b.child.pid as number, ...childrenOf(b.child.pid)]
  cluster.signal(paused, "SIGSTOP")
  await cluster.recorded([a], [4])
  cluster.signal(paused.toReversed(), "SIGCONT")
  await b.says(/the recorder of shard \d ended with exit code [56]/, 60_000)
  await cluster.recorded([a, b], [2, 2])
  await cluster.expectLedger()
})

test(`a recorder that hangs while its replica lives is killed, and another one continues (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  await using cluster = await open()
  const a = cluster.start("a")
  await cluster.recorded([a], [4])
  await cluster.begun()
  cluster.workload.start(load(400))
  cluster.signal(childrenOf(a.child.pid).slice(0, 1), "SIGSTOP")
  await a.says(/the recorder of shard \d gives no sign of life: it is killed/, 120_000)
  await cluster.recorded([a], [4])
  await cluster.expectLedger()
  expect(await a.stop("SIGTERM", 60_000)).toMatchObject({ code: 0 })
})
