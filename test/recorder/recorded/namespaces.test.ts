/** One recording of several namespaces, each of them watched separately: events of one do not affect the others. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterEach, expect, test } from "vitest"
import { ArchiveReader, readCoverage } from "../../../src/archive/index.ts"
import type { TrackedKind } from "../../../src/recorder/configuration/tracked-kind.ts"
import { coverageOf } from "../../../src/recorder/export/coverage.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import {
  caughtUpIn,
  expired,
  forbidden,
  ledgerIn,
  NamespacedSandbox,
  namespacesOf,
  resumes,
} from "./namespaced-sandbox.ts"
import { differences, type RecordedSandbox, tracked } from "./recorded-sandbox.ts"

const configMaps = "v1.ConfigMap"
const both = ["shop", "stock"]

const within = (namespaces: ReadonlyArray<string>, gvk = configMaps): TrackedKind => ({ ...tracked(gvk), namespaces })

const opened: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const start = async (
  namespaces: ReadonlyArray<string> = both,
  prepare: (server: NamespacedSandbox) => void = () => undefined,
): Promise<{ server: NamespacedSandbox; sandbox: Sandbox; recorded: RecordedSandbox }> => {
  const server = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => server.close())
  prepare(server)
  const recorded = await record(server, namespaces)
  return { server, sandbox: server.sandbox, recorded }
}

const record = async (
  server: NamespacedSandbox,
  namespaces: ReadonlyArray<string>,
  directory = newDirectory(),
): Promise<RecordedSandbox> => {
  const recorded = await server.record({ kinds: [within(namespaces)], directory })
  opened.push(() => recorded.stopRecording())
  return recorded
}

const newDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-namespaces-"))
  opened.push(async () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const put = (sandbox: Sandbox, namespace: string, name: string, n = 0) =>
  sandbox.put(configMaps, { metadata: { namespace, name }, data: { n: String(n) } })

const watching = (recorded: RecordedSandbox): Promise<void> => recorded.inState(configMaps, "watching")

const gapsOf = ({ directory }: RecordedSandbox) => {
  const reader = ArchiveReader.open(directory)
  try {
    return reader.gaps()
  } finally {
    reader.close()
  }
}

const detailOf = ({ actors }: RecordedSandbox): string =>
  actors.statuses
    .all()
    .map(({ state, detail }) => `${state}: ${detail}`)
    .join()

/** Alternating changes of both namespaces, at most 6,000 a second, as long as `goesOn`. */
const churn = async (sandbox: Sandbox, goesOn: (round: number) => boolean): Promise<void> => {
  for (let round = 0; goesOn(round); round++) {
    for (const namespace of [...both, "elsewhere"]) {
      const name = `object-${round % 17}`
      put(sandbox, namespace, name, round)
      if (round % 5 === 4) sandbox.delete(configMaps, namespace, name)
    }
    if (round % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test("two namespaces are recorded by two watches and no other request; objects of a third one are not recorded", async () => {
  const { server, sandbox, recorded } = await start(both, ({ sandbox }) => {
    for (const namespace of [...both, "elsewhere"]) put(sandbox, namespace, "before")
  })
  await watching(recorded)
  await churn(sandbox, (round) => round < 200)
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const { changes, gaps } = await recorded.export()
  const wanted = ledgerIn(sandbox, configMaps, both)
  // Changes of one namespace are in order; those of both are interleaved by two streams.
  for (const namespace of both) {
    const uids = new Set(ledgerIn(sandbox, configMaps, [namespace]).map(({ uid }) => uid))
    const found = changes.filter(({ uid }) => uids.has(uid))
    expect(differences(found, ledgerIn(sandbox, configMaps, [namespace]), configMaps)).toEqual({})
  }
  expect(changes).toHaveLength(wanted.length)
  expect(gaps).toEqual([])
  expect(both.map((namespace) => [server.lists(namespace), server.watches(namespace)])).toEqual([
    [1, 1],
    [1, 1],
  ])
  const beyond = server.asked.filter(({ pathname }) => !both.some((each) => pathname.includes(`/namespaces/${each}/`)))
  // The objects on the server, and which cluster it is.
  expect([...new Set(beyond.map(({ pathname }) => pathname))].sort()).toEqual([
    "/api/v1",
    "/api/v1/namespaces/kube-system",
  ])
  expect(detailOf(recorded)).toMatch(/^watching: shop from version \d+, stock from version \d+$/)
})

test("a 410 in one namespace causes a gap and a list of that namespace only; the other one continues and loses nothing", async () => {
  const { server, sandbox, recorded } = await start()
  await watching(recorded)
  await churn(sandbox, (round) => round < 50)
  put(sandbox, "stock", "stays")
  put(sandbox, "shop", "goes")
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const listedBefore = server.lists("stock")
  const watchedBefore = server.watches("stock")
  server.answer("shop", expired, 1, resumes)
  // Objects that vanished from one while it was not watched must not affect the other.
  server.answer("shop", { code: 503, reason: "ServiceUnavailable", message: "later" }, 1, (url) => !resumes(url))
  server.hangUp("shop")
  sandbox.delete(configMaps, "shop", "goes")
  await until(async () => gapsOf(recorded).length > 0, "a gap")
  await churn(sandbox, (round) => round < 50)
  await watching(recorded)
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const { changes } = await recorded.export()
  expect(gapsOf(recorded)).toMatchObject([
    {
      gvk: configMaps,
      reason: "expired",
      namespace: "shop",
      detail: expect.stringMatching(/^the server no longer had/),
    },
  ])
  expect([server.lists("stock"), server.watches("stock")]).toEqual([listedBefore, watchedBefore])
  const alarms = recorded.notices.flatMap((notice) =>
    notice.type === "kind" && notice.report.type === "alarm" ? [notice.report.detail] : [],
  )
  expect(alarms).toEqual([expect.stringMatching(/^in namespace shop: .*; a gap is recorded$/)])
  const inStock = new Set(ledgerIn(sandbox, configMaps, ["stock"]).map(({ uid }) => uid))
  const found = changes.filter(({ uid }) => inStock.has(uid))
  expect(differences(found, ledgerIn(sandbox, configMaps, ["stock"]), configMaps)).toEqual({})
  expect(changes.filter(({ action }) => action === "vanished").filter(({ uid }) => inStock.has(uid))).toEqual([])
  expect(await aliveIn(recorded)).toEqual(aliveOf(sandbox))
})

/** Objects alive at the end of the recording. */
const aliveIn = async (recorded: RecordedSandbox): Promise<ReadonlyArray<string>> => {
  const alive = new Map<string, string>()
  for (const { uid, action, name } of (await recorded.export()).changes) {
    if (action === "applied") alive.set(uid, name)
    else alive.delete(uid)
  }
  return [...alive.values()].sort()
}

const aliveOf = (sandbox: Sandbox): ReadonlyArray<string> => {
  const alive = new Map<string, string>()
  for (const { uid, action, name } of ledgerIn(sandbox, configMaps, both)) {
    if (action === "applied") alive.set(uid, name)
    else alive.delete(uid)
  }
  return [...alive.values()].sort()
}

test("killed repeatedly while both stream, the watcher resumes both and records nothing twice", {
  timeout: patient(60_000),
}, async () => {
  const { server, sandbox, recorded } = await start()
  await watching(recorded)
  let isOver = false
  const changing = churn(sandbox, () => !isOver)
  for (let kill = 0; kill < 8; kill++) {
    const { length } = ledgerIn(sandbox, configMaps, both)
    const [watcher] = recorded.actors.watchers
    await until(async () => ledgerIn(sandbox, configMaps, both).length > length + 100, "100 changes")
    await watcher?.watcher.kill("a test")
    await watching(recorded)
  }
  isOver = true
  await changing
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const { changes, gaps } = await recorded.export()
  for (const namespace of both) {
    const wanted = ledgerIn(sandbox, configMaps, [namespace])
    const uids = new Set(wanted.map(({ uid }) => uid))
    expect(
      differences(
        changes.filter(({ uid }) => uids.has(uid)),
        wanted,
        configMaps,
      ),
    ).toEqual({})
  }
  expect(gaps).toEqual([])
  expect(both.map((namespace) => server.lists(namespace))).toEqual([1, 1])
})

test("a forbidden namespace is named with the missing permission; the other is recorded, resumes, and is not reported as complete", async () => {
  const { server, sandbox, recorded } = await start(both, (behind) => {
    put(behind.sandbox, "shop", "before")
    put(behind.sandbox, "stock", "unseen")
    behind.answer("stock", forbidden)
  })
  await recorded.inState(configMaps, "forbidden")
  await recorded.ready()
  put(sandbox, "shop", "after")
  const names = async () => (await recorded.export()).changes.map(({ name }) => name)
  await until(async () => (await names()).includes("after"), "what is in the namespace that is permitted")
  expect(detailOf(recorded)).toMatch(/^forbidden: namespace stock forbidden: .*add to a Role of this user in stock: /)
  expect(detailOf(recorded)).toMatch(/; 1 of 2 namespaces is watched$/)
  expect(recorded.actors.statuses.verboseReadiness()).toMatch(/^\[!\]v1\.ConfigMap forbidden: namespace stock /)
  const now = Date.now() * 1000
  const coverage = () =>
    coverageOf(
      readCoverage(recorded.directory, { fromTime: 0, untilTime: now * 2 }),
      recorded.actors.statuses.all(),
      { start: 0, end: now * 2 },
      now,
    ).kinds[0]
  expect(coverage()).toMatchObject({ state: "forbidden", ranges: [] })

  // Another life: the permitted namespace resumes where it was, and is not listed a second time.
  await recorded.stopRecording()
  put(sandbox, "shop", "meanwhile")
  const again = await record(server, both, recorded.directory)
  await again.inState(configMaps, "forbidden")
  await until(
    async () => (await again.export()).changes.some(({ name }) => name === "meanwhile"),
    "what happened while nobody recorded",
  )
  expect(server.lists("shop")).toBe(1)
  server.permit()
  await watching(again)
  await caughtUpIn(again, sandbox, configMaps, both)
  const { changes, gaps } = await again.export()
  expect(changes.map(({ name }) => name)).toEqual(["before", "after", "meanwhile", "unseen"])
  expect(gaps).toEqual([])
  const later = Date.now() * 1000
  const whole = coverageOf(
    readCoverage(again.directory, { fromTime: 0, untilTime: later * 2 }),
    again.actors.statuses.all(),
    { start: 0, end: later * 2 },
    later,
  )
  expect(whole.kinds[0]?.ranges).toHaveLength(1)
})

test("a namespace is added and another removed while recording: the remaining one is resumed and misses nothing", async () => {
  const { server, sandbox, recorded } = await start(both, ({ sandbox }) => put(sandbox, "bank", "before"))
  await watching(recorded)
  await churn(sandbox, (round) => round < 20)
  put(sandbox, "stock", "left")
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const { actors } = recorded
  expect(await actors.reconfigure([within(["bank", "shop"])])).toMatchObject({
    restarted: [configMaps],
    removed: [],
  })
  await churn(sandbox, (round) => round < 20)
  await watching(recorded)
  put(sandbox, "bank", "after")
  await caughtUpIn(recorded, sandbox, configMaps, ["bank", "shop"])
  const { changes } = await recorded.export()
  const inShop = ledgerIn(sandbox, configMaps, ["shop"])
  const uids = new Set(inShop.map(({ uid }) => uid))
  expect(
    differences(
      changes.filter(({ uid }) => uids.has(uid)),
      inShop,
      configMaps,
    ),
  ).toEqual({})
  expect(server.lists("shop")).toBe(1)
  expect(changes.filter(({ action, name }) => action === "vanished" && name === "left")).toHaveLength(1)
  expect(changes.filter(({ name }) => name === "before" || name === "after")).toHaveLength(2)
  expect(gapsOf(recorded).map(({ namespace, reason, detail }) => `${namespace} ${reason}: ${detail}`)).toEqual([
    "stock stopped: the namespace is no longer recorded; its objects are recorded as vanished",
    "bank stopped: the selection of this kind's objects was changed from namespaces shop,stock to namespaces bank,shop; its current state was listed",
  ])

  // Down to one: it still needs no list.
  await actors.reconfigure([within(["shop"])])
  await watching(recorded)
  put(sandbox, "shop", "last")
  await caughtUpIn(recorded, sandbox, configMaps, ["shop"])
  expect(server.lists("shop")).toBe(1)
  // And the whole cluster: no version covers all of it, so it is listed.
  await actors.reconfigure([tracked(configMaps)])
  await watching(recorded)
  await recorded.reached(configMaps, BigInt(sandbox.resourceVersion))
  expect(gapsOf(recorded).at(-1)?.detail).toBe(
    "the selection of this kind's objects was changed from namespaces shop to all namespaces; its current state was listed",
  )
  // Back to several: the version of the whole applies to each of them.
  await actors.reconfigure([within(both)])
  await watching(recorded)
  expect(both.map((namespace) => server.lists(namespace))).toEqual([1, 1])
  put(sandbox, "stock", "again")
  await caughtUpIn(recorded, sandbox, configMaps, both)
})

test("a cluster-scoped kind is watched once, for any requested namespaces", async () => {
  const nodes = "v1.Node"
  const server = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => server.close())
  server.sandbox.put(nodes, { metadata: { name: "one" } })
  const recorded = await server.record({ kinds: [within(both, nodes)], directory: newDirectory() })
  opened.push(() => recorded.stopRecording())
  await recorded.inState(nodes, "watching")
  server.sandbox.put(nodes, { metadata: { name: "two" } })
  await until(async () => (await recorded.export()).changes.length === 2, "two nodes")
  expect(server.sandbox.watchCount("nodes")).toBe(1)
  await recorded.actors.reconfigure([within(["shop", "bank"], nodes)])
  await recorded.inState(nodes, "watching")
  const changes = async () => (await recorded.export()).changes.map(({ action, name }) => `${action} ${name}`)
  expect(await changes()).toEqual(["applied one", "applied two"])
  // A list concludes for all of them.
  await server.sandbox.faults.refuseConnections()
  server.sandbox.faults.dropConnections()
  server.sandbox.delete(nodes, "", "one")
  server.sandbox.faults.forceExpired("nodes", 1)
  await server.sandbox.faults.acceptConnections()
  await until(async () => (await changes()).includes("vanished one"), "the node that is gone")
  expect(await changes()).toEqual(["applied one", "applied two", "vanished one"])
})

test("a kind without changes is complete as soon as all its namespaces are watched", async () => {
  const server = await NamespacedSandbox.start({ bookmarkInterval: 0 })
  opened.push(() => server.close())
  const recorded = await record(server, both)
  await watching(recorded)
  expect([...(await namespacesOf(recorded, configMaps)).keys()]).toEqual(both)
  const now = Date.now() * 1000
  const coverage = coverageOf(
    readCoverage(recorded.directory, { fromTime: 0, untilTime: now }),
    recorded.actors.statuses.all(),
    { start: 0, end: now },
    now,
  )
  expect(coverage.kinds[0]).toMatchObject({ state: "watching", gaps: [] })
})

test("the statistics of a kind cover all its streams", async () => {
  const { sandbox, recorded } = await start()
  await watching(recorded)
  for (const namespace of both) put(sandbox, namespace, "a")
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const [found] = recorded.actors.watchers
  if (found === undefined) throw new Error("nobody watches")
  const statistics = await Effect.runPromise(found.watcher.call("statistics", undefined))
  expect(statistics).toMatchObject({ received: 2, recorded: 2, watches: 0, relists: 0, liveObjects: 2 })
})

test("another cluster behind the same address concerns all namespaces: one new epoch, a gap and a list in each", async () => {
  const { sandbox, recorded } = await start()
  await watching(recorded)
  await churn(sandbox, (round) => round < 40)
  await caughtUpIn(recorded, sandbox, configMaps, both)
  await recorded.stopRecording()
  const other = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => other.close())
  for (const namespace of both) put(other.sandbox, namespace, `only-${namespace}`)
  const again = await record(other, both, recorded.directory)
  await watching(again)
  await caughtUpIn(again, other.sandbox, configMaps, both)
  const reader = ArchiveReader.open(again.directory)
  const { epoch } = reader.kinds().find(({ gvk }) => gvk === configMaps) ?? {}
  reader.close()
  expect(epoch).toBe(1)
  expect(
    gapsOf(again)
      .map(({ reason, namespace }) => `${reason} ${namespace}`)
      .sort(),
  ).toEqual(both.map((namespace) => `cluster-restored ${namespace}`))
  expect(both.map((namespace) => other.lists(namespace))).toEqual([1, 1])
  expect(await aliveIn(again)).toEqual(both.map((namespace) => `only-${namespace}`))
  put(other.sandbox, "stock", "later")
  await caughtUpIn(again, other.sandbox, configMaps, both)
  expect(gapsOf(again)).toHaveLength(2)
})

test("pod lifecycles are followed in each namespace, and a list of one ends none of the other's, even of pods from before a restart", async () => {
  const pods = "v1.Pod"
  const kinds = [{ ...within(both, pods), trackLifecycle: true }]
  const server = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => server.close())
  const { sandbox } = server
  const run = (namespace: string, name: string, started = 1_700_000_000) =>
    sandbox.put(pods, {
      metadata: { namespace, name },
      spec: { containers: [{ name: "main" }] },
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "main",
            state: { running: { startedAt: new Date(started * 1000).toISOString().replace(".000", "") } },
          },
        ],
      },
    })
  for (const namespace of both) for (const name of ["stays", "goes"]) run(namespace, name)
  run("elsewhere", "stays")
  const directory = newDirectory()
  const first = await server.record({ kinds, directory })
  opened.push(() => first.stopRecording())
  await first.inState(pods, "watching")
  await caughtUpIn(first, sandbox, pods, both)
  await first.stopRecording()

  const livesOf = (recorded: RecordedSandbox): ReadonlyArray<string> => {
    const reader = ArchiveReader.open(recorded.directory)
    try {
      return [...reader.podLives({ cut: reader.cut() })]
        .map(({ namespace, name, end }) => `${namespace}/${name} ${end === undefined ? "runs" : "ended"}`)
        .sort()
    } finally {
      reader.close()
    }
  }
  expect(livesOf(first)).toEqual(["shop/goes runs", "shop/stays runs", "stock/goes runs", "stock/stays runs"])
  // It resumes where it was; then one namespace is listed because the server has dropped its history, and the other is not.
  server.answer("shop", expired, 1, resumes)
  sandbox.delete(pods, "shop", "goes")
  const second = await server.record({ kinds, directory })
  opened.push(() => second.stopRecording())
  await until(async () => gapsOf(second).length > 0, "a gap")
  await second.inState(pods, "watching")
  expect(livesOf(second)).toEqual(["shop/goes ended", "shop/stays runs", "stock/goes runs", "stock/stays runs"])
  sandbox.delete(pods, "stock", "goes")
  await caughtUpIn(second, sandbox, pods, both)
  expect(livesOf(second)).toEqual(["shop/goes ended", "shop/stays runs", "stock/goes ended", "stock/stays runs"])
  expect(gapsOf(second).map(({ gvk, namespace }) => `${gvk} ${namespace}`)).toEqual([`${pods} shop`])
  expect([server.lists("shop"), server.lists("stock")]).toEqual([2, 1])
})

test("pod lifecycles that are switched on for recorded pods of several namespaces cause one list each, and a gap says so", async () => {
  const pods = "v1.Pod"
  const { server, sandbox, recorded } = await startWith(within(both, pods))
  for (const namespace of both)
    sandbox.put(pods, {
      metadata: { namespace, name: "one" },
      spec: { containers: [{ name: "main" }] },
      status: {
        phase: "Running",
        containerStatuses: [{ name: "main", state: { running: { startedAt: "2026-11-21T10:00:00Z" } } }],
      },
    })
  await caughtUpIn(recorded, sandbox, pods, both)
  await recorded.actors.reconfigure([{ ...within(both, pods), trackLifecycle: true }])
  await recorded.inState(pods, "watching")
  const reader = ArchiveReader.open(recorded.directory)
  const lives = [...reader.podLives({ cut: reader.cut() })].map(({ namespace, name }) => `${namespace}/${name}`)
  reader.close()
  expect(lives.sort()).toEqual(["shop/one", "stock/one"])
  expect(both.map((namespace) => server.lists(namespace))).toEqual([2, 2])
  // Which list is complete first depends on the server.
  const gaps = gapsOf(recorded).map(({ gvk, reason, namespace }) => `${gvk} ${reason} ${namespace}`)
  expect(gaps.sort()).toEqual([`${pods} stopped shop`, `${pods} stopped stock`])
})

const startWith = async (kind: TrackedKind) => {
  const server = await NamespacedSandbox.start({ bookmarkInterval: 100 })
  opened.push(() => server.close())
  const recorded = await server.record({ kinds: [kind], directory: newDirectory() })
  opened.push(() => recorded.stopRecording())
  await recorded.inState(kind.gvkText, "watching")
  return { server, sandbox: server.sandbox, recorded }
}

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)

test(`after any events in any namespace, the recording ends in the state of the cluster, and only gaps lack anything (seed ${seed})`, {
  timeout: patient(120_000),
}, async () => {
  const { server, sandbox, recorded: first } = await start()
  let recorded = first
  await watching(recorded)
  let state = seed
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  let isOver = false
  const changing = churn(sandbox, () => !isOver)
  for (let round = 0; round < 30; round++) {
    const namespace = both[below(2)] as string
    const { length } = ledgerIn(sandbox, configMaps, both)
    await until(async () => ledgerIn(sandbox, configMaps, both).length > length + below(100), "changes")
    switch (below(6)) {
      case 0:
        server.answer(namespace, expired, 1, resumes)
        server.hangUp(namespace)
        break
      case 1:
        server.answer(namespace, forbidden, 1 + below(2))
        server.hangUp(namespace)
        break
      case 2:
        await recorded.actors.watchers[0]?.watcher.kill("a test")
        break
      case 3:
        await recorded.stopRecording()
        recorded = await record(server, both, recorded.directory)
        break
      case 4:
        sandbox.faults.expireWatches("configmaps")
        break
      default:
        for (const each of both) server.hangUp(each)
    }
  }
  isOver = true
  await changing
  server.permit()
  await watching(recorded)
  await caughtUpIn(recorded, sandbox, configMaps, both)
  const { changes } = await recorded.export()
  const gaps = gapsOf(recorded)
  expect(await aliveIn(recorded)).toEqual(aliveOf(sandbox))
  const told = changes.map(({ uid, resourceVersion, action }) => `${uid} ${resourceVersion} ${action}`)
  expect(new Set(told).size).toBe(told.length)
  for (const namespace of both) {
    const wanted = ledgerIn(sandbox, configMaps, [namespace])
    const uids = new Set(wanted.map(({ uid }) => uid))
    const versions = changes
      .filter(({ uid, action }) => uids.has(uid) && action !== "vanished")
      .map(({ resourceVersion }) => Number(resourceVersion))
    const missing = wanted.filter(({ resourceVersion }) => !versions.includes(Number(resourceVersion)))
    const own = gaps.filter((gap) => gap.namespace === namespace)
    // Every missing change is in a gap of its own namespace.
    const uncovered = missing.filter(
      ({ resourceVersion }) =>
        !own.some(
          ({ fromVersion, toVersion }) =>
            Number(fromVersion) < Number(resourceVersion) && Number(resourceVersion) <= Number(toVersion),
        ),
    )
    expect(uncovered).toEqual([])
  }
})
