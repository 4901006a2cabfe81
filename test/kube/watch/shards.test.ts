/** A part of a kind's objects, from API servers that filter by `shardSelector` and from those that ignore it. */
import { describe, expect, test } from "vitest"
import { rangeOfShard, type Shard, shardSelectorOf } from "../../../src/kube/index.ts"
import { SinkBench } from "../../actors/watcher/sink-bench.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { watching } = watchedSandboxes()

const names = Array.from({ length: 24 }, (_, index) => `object-${index}`)
const shard: Shard = { index: 1, count: 3, by: "uid" }

const isOwn = (text: string, { index, count }: Shard): boolean => {
  const bytes = Buffer.from(text)
  return rangeOfShard({ index, count }).has(bytes, 0, bytes.length)
}

/** The ledger's entries of the shard, in the notebook's notation. */
const ownLedger = ({ sandbox }: Watched, of: Shard): ReadonlyArray<string> =>
  sandbox.ledger
    .of("v1.ConfigMap")
    .filter(({ uid, namespace }) => isOwn(of.by === "uid" ? uid : namespace, of))
    .map(({ action, name, resourceVersion }) => `${action} ${name}@${resourceVersion}`)

/** Everything up to the last change, also if the server sends nothing of it to this shard. */
const everything = async (watched: Watched): Promise<void> => {
  await watched.bookmark()
  await watched.caughtUp()
}

describe.each([
  { filtersByShard: true, streamingList: "supported" },
  { filtersByShard: true, streamingList: "rejected" },
  { filtersByShard: false, streamingList: "supported" },
  { filtersByShard: false, streamingList: "rejected" },
] as const)("a shard of a server with %o", (sandbox) => {
  test("has its own objects and changes, and no others", async () => {
    const watched = await watching({ sandbox, shard, policy: { pageSize: 5 }, before: holding(...names) })
    for (const name of names) watched.put(name)
    for (const name of names.slice(0, 12)) watched.delete(name)
    await everything(watched)
    const { objects } = watched.notebook
    const told = objects.map(({ action, name, version }) => `${action} ${name}@${version}`)
    const wanted = ownLedger(watched, shard)
    expect(wanted.length).toBeGreaterThan(5)
    expect(told.toSorted()).toEqual(wanted.toSorted())
    const { elsewhere, objects: taken } = watched.session.statistics
    expect(taken).toBe(wanted.length)
    expect(elsewhere).toBe(sandbox.filtersByShard ? 0 : watched.ledger().length - wanted.length)
    const requests = [...watched.queries("list"), ...watched.queries("watch")]
    // A page after the first, too.
    for (const query of requests) expect(query.get("shardSelector")).toBe(shardSelectorOf(shard))
  })
})

test("a shard by namespace has whole namespaces", async () => {
  const by: Shard = { index: 0, count: 2, by: "namespace" }
  const watched = await watching({ shard: by })
  for (const namespace of ["billing", "monitoring", "payments", "search", "shop", "stock"])
    watched.sandbox.put("v1.ConfigMap", { metadata: { name: `in-${namespace}`, namespace } })
  await everything(watched)
  const told = watched.notebook.objects.map(({ action, name, version }) => `${action} ${name}@${version}`)
  expect(told).toEqual(ownLedger(watched, by))
  expect(told.length).toBeGreaterThan(0)
  expect(told.length).toBeLessThan(6)
})

test("what is passed over is progress: the shard is complete through changes of others, and resumes after them", async () => {
  const bench = new SinkBench()
  const watched = await watching({ shard, before: holding(...names), sink: () => bench.sink })
  const before = bench.brief().length
  const foreign = watched.sandbox.ledger.of("v1.ConfigMap").find(({ uid }) => !isOwn(uid, shard))
  if (foreign === undefined) throw new Error("all objects are in one shard")
  watched.put(foreign.name)
  await watched.caughtUp()
  bench.clock.advance(1000)
  expect(bench.completeThrough).toBe(watched.sandbox.resourceVersion)
  expect(bench.brief()).toHaveLength(before)
  expect(watched.session.delivered).toBe(watched.sandbox.resourceVersion)
})
