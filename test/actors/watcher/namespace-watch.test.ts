/**
 * A kind that is watched namespace by namespace, over a real recording and a simulated server: lives that end anywhere, lists of one
 * namespace while another streams, clusters restored from a backup.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { selectionOf } from "../../../src/actors/watcher/selection.ts"
import { ArchiveReader, ArchiveWriter } from "../../../src/archive/index.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { type PlayedChange, PlayedCluster } from "./played-cluster.ts"
import { both, kind, Life } from "./played-life.ts"

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-namespaces-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const recorded = () => {
  const reader = ArchiveReader.open(directory)
  const events = [...reader.events()].flatMap((event) => (event.type === "gap" ? [] : [event]))
  const gaps = reader.gaps()
  reader.close()
  return { events, gaps }
}

const brief = (): ReadonlyArray<string> =>
  recorded().events.map(
    ({ action, namespace, name, resourceVersion }) => `${action} ${namespace}/${name}@${resourceVersion}`,
  )

const gapsIn = (): ReadonlyArray<string> =>
  recorded().gaps.map(
    ({ namespace, reason, fromVersion, toVersion }) => `${namespace} ${reason} ${fromVersion}..${toVersion}`,
  )

describe("a life that ends in the middle of a list of one namespace", () => {
  test("leaves that list to the next one, and the other namespace resumes where it was", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    for (const namespace of both) for (const name of ["a", "b"]) cluster.put(namespace, name)
    const first = await Life.begin({ directory, cluster, clock })
    await first.serveAll()
    cluster.delete("shop", "a")
    first.server.expire("shop")
    await first.settle()
    // Known before anything in the list.
    first.commit()
    expect(first.state.namespaces.map(({ listReason }) => listReason)).toEqual(["expired", ""])
    // Half of the list, and then a change in the other namespace.
    first.server.serve("shop", 1)
    cluster.put("stock", "a")
    first.server.serve("stock", 1)
    first.end()
    expect(stateNow().namespaces).toMatchObject([
      { namespace: "shop", completeThrough: "104", listReason: "expired" },
      { namespace: "stock", completeThrough: "106", listReason: "" },
    ])
    const second = await Life.begin({ directory, cluster, clock })
    await second.serveAll()
    second.end()
    expect(second.server.listed).toEqual(["shop"])
    expect(brief().slice(4)).toEqual(["applied stock/a@106", "vanished shop/a@106"])
    expect(gapsIn()).toEqual(["shop expired 104..106"])
  })

  test("also of the first list, with a gap only if part of it was recorded", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    for (const namespace of both) for (const name of ["a", "b"]) cluster.put(namespace, name)
    const first = await Life.begin({ directory, cluster, clock })
    first.server.serve("shop", 1)
    first.end()
    expect(stateNow()).toMatchObject({ completeThrough: "", recordedSince: 0 })
    const second = await Life.begin({ directory, cluster, clock })
    await second.serveAll()
    second.end()
    expect(gapsIn()).toEqual(["shop stopped ..104"])
    expect(recorded().gaps[0]?.fromTime).toBeGreaterThan(0)
    expect(brief()).toHaveLength(4)
    expect(stateNow()).toMatchObject({ completeThrough: "", listReason: "", namespaces: completeAt("104") })
  })
})

/** Both are complete, at the time of the kind. */
const completeAt = (version: string) =>
  both.map((namespace) => ({ namespace, completeThrough: version, completeTime: 0, listReason: "" }))

const stateNow = () => {
  const archive = ArchiveWriter.open(directory)
  const state = archive.kindState(kind)
  archive.close()
  return state
}

test("while a namespace is not watched, the kind is complete up to when it last was, whatever the others do", async () => {
  const cluster = new PlayedCluster()
  const clock = new ManualClock()
  for (const namespace of both) cluster.put(namespace, "a")
  const life = await Life.begin({ directory, cluster, clock })
  await life.serveAll()
  const { completeThroughTime } = life.state
  life.server.hangUp("shop")
  cluster.put("stock", "a")
  life.server.serve("stock", 1)
  life.commit()
  const during = life.state
  await life.serveAll()
  expect(during.completeThroughTime).toBe(completeThroughTime)
  expect(during.namespaces).toMatchObject([
    {
      namespace: "shop",
      completeThrough: "102",
      completeTime: expect.closeTo(completeThroughTime, -6),
      listReason: "",
    },
    { namespace: "stock", completeThrough: "103", completeTime: expect.any(Number), listReason: "" },
  ])
  for (const { completeTime } of during.namespaces) expect(completeTime).toBeGreaterThan(0)
  expect(life.state).toMatchObject({ listReason: "", namespaces: completeAt("103") })
  expect(life.state.completeThroughTime).toBeGreaterThanOrEqual(completeThroughTime)
  life.end()
})

describe("a cluster that is restored from a backup", () => {
  test("behind one namespace is listed in all, in one epoch, even if the others' versions would have been accepted", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    cluster.put("stock", "old")
    for (let index = 0; index < 20; index++) cluster.put("shop", `n-${index}`)
    const first = await Life.begin({ directory, cluster, clock })
    for (const namespace of both) first.server.serve(namespace, 1000)
    first.end()
    const backup = new PlayedCluster(cluster.uid, 100)
    backup.put("stock", "old")
    for (let index = 0; index < 10; index++) backup.put("shop", `n-${index}`)
    const second = await Life.begin({ directory, cluster: backup, clock })
    await second.serveAll()
    expect(second.state).toMatchObject({ epoch: 1, listReason: "" })
    second.end()
    expect(
      gapsIn()
        .map((gap) => gap.split(" ", 2).join(" "))
        .sort(),
    ).toEqual(["shop cluster-restored", "stock cluster-restored"])
    const alive = aliveAtEnd()
    expect([...alive.keys()].sort()).toEqual([...backup.objects.values()].map(({ uid }) => uid).sort())
  })
})

/** UID → version, as the recording leaves them. */
const aliveAtEnd = (): ReadonlyMap<string, string> => {
  const alive = new Map<string, string>()
  for (const { uid, action, resourceVersion } of recorded().events) {
    if (action === "applied") alive.set(uid, String(resourceVersion))
    else alive.delete(uid)
  }
  return alive
}

type Happening = readonly [what: string, namespace: number, amount: number]

const happening: fc.Arbitrary<Happening> = fc.tuple(
  fc.constantFrom(
    ...[
      "put",
      "put",
      "put",
      "delete",
      "serve",
      "serve",
      "serve",
      "bookmark",
      "expire",
      "hang up",
      "commit",
      "die",
      "wait",
      "press",
      "relieve",
    ],
  ),
  fc.nat(1),
  fc.nat(5),
)

test("for any events and any ends of lives, each namespace is recorded as if it were alone: complete except for its own gaps", {
  timeout: patient(60_000),
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(happening, { maxLength: 80 }), async (isEstablished, happenings) => {
      rmSync(directory, { recursive: true, force: true })
      const cluster = new PlayedCluster()
      const clock = new ManualClock()
      let life = await Life.begin({ directory, cluster, clock })
      if (isEstablished) await life.serveAll()
      for (const [what, which, amount] of happenings) {
        const namespace = both[which] as string
        switch (what) {
          case "put":
            cluster.put(namespace, `n-${amount}`)
            break
          case "delete":
            cluster.delete(namespace, `n-${amount}`)
            break
          case "serve":
          case "bookmark":
          case "expire":
          case "hang up":
          case "commit":
          case "wait":
          case "press":
          case "relieve":
            life.meet(what, namespace, amount)
            break
          default:
            life.end(amount)
            life = await Life.begin({ directory, cluster, clock })
        }
        await life.settle()
      }
      await life.serveAll()
      life.end()
      const { events, gaps } = recorded()
      // It ends in the state of the cluster.
      const objects = [...cluster.objects.values()]
      expect([...aliveAtEnd()].sort()).toEqual(objects.map(({ uid, version }) => [uid, String(version)]).sort())
      // Nothing is recorded twice, and a UID is deleted once.
      const told = events.map(({ uid, action, resourceVersion }) =>
        action === "applied" ? `${uid}@${resourceVersion}` : `end of ${uid}`,
      )
      expect(told).toHaveLength(new Set(told).size)
      // What is missing is in a gap of the namespace itself. Before the first list nothing is promised.
      for (const namespace of isEstablished ? both : []) {
        const own = gaps.filter((gap) => gap.namespace === namespace)
        const versions = new Set(events.map(({ resourceVersion }) => Number(resourceVersion)))
        const missing = cluster.changes.filter(
          (change) => change.namespace === namespace && !versions.has(change.version),
        )
        const isCovered = ({ version }: { readonly version: number }): boolean =>
          own.some((gap) => Number(gap.fromVersion) < version && version <= Number(gap.toVersion))
        expect(missing.filter((change) => !isCovered(change))).toEqual([])
      }
    }),
    { numRuns: rounds(120) },
  )
})

const namespaceSets: ReadonlyArray<ReadonlyArray<string> | undefined> = [
  both,
  ["shop"],
  undefined,
  ["depot", "shop"],
  ["stock", "shop", "depot"],
]

const upheaval: fc.Arbitrary<Happening> = fc.tuple(
  fc.constantFrom(
    ...[
      "put",
      "put",
      "put",
      "delete",
      "serve",
      "serve",
      "bookmark",
      "expire",
      "hang up",
      "commit",
      "wait",
      "press",
      "relieve",
    ],
    ...["die", "ask for others", "back up", "restore"],
  ),
  fc.nat(2),
  fc.nat(5),
)

test("for any requested namespaces and any cluster, the recording ends with what is requested", {
  timeout: patient(60_000),
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(upheaval, { maxLength: 60 }), async (happenings) => {
      rmSync(directory, { recursive: true, force: true })
      const clock = new ManualClock()
      let cluster = new PlayedCluster()
      let backup = cluster.copy("backup 0")
      let namespaces = namespaceSets[0]
      let life = await Life.begin({ directory, cluster, clock, namespaces })
      await life.serveAll()
      const made: Array<{ readonly change: PlayedChange; readonly time: number; readonly isRecorded: boolean }> = []
      const isRequested = (namespace: string): boolean => namespaces?.includes(namespace) ?? true
      const note = (namespace: string): void => {
        const change = cluster.changes.at(-1)
        if (change === undefined || !isRequested(namespace)) return
        // Whether the list that the present request led to was completed.
        const isRecorded =
          life.state.selection ===
          selectionOf({
            namespaces,
            labelSelector: undefined,
            fieldSelector: undefined,
            skipOwned: false,
          })
        made.push({ change, time: clock.wallMicros(), isRecorded })
      }
      for (const [index, [what, which, amount]] of happenings.entries()) {
        const namespace = ["shop", "stock", "depot"][which] as string
        const asked = namespaces === undefined ? undefined : namespace
        switch (what) {
          case "put":
            cluster.put(namespace, `n-${amount}`)
            note(namespace)
            break
          case "delete":
            if (!cluster.objects.has(`${namespace}/n-${amount}`)) break
            cluster.delete(namespace, `n-${amount}`)
            note(namespace)
            break
          case "serve":
          case "bookmark":
          case "expire":
          case "hang up":
          case "commit":
          case "wait":
          case "press":
          case "relieve":
            life.meet(what, asked, amount)
            break
          case "back up":
            backup = cluster.copy(`backup ${index}`)
            break
          case "restore":
            cluster = backup.copy(`restored ${index}`)
            life.server.become(cluster)
            break
          case "die":
            life.end(amount)
            life = await Life.begin({ directory, cluster, clock, namespaces })
            break
          default:
            life.end(amount)
            namespaces = namespaceSets[amount % namespaceSets.length]
            life = await Life.begin({ directory, cluster, clock, namespaces })
        }
        await life.settle()
      }
      await life.serveAll()
      expect([life.state.listReason, ...life.state.namespaces.map((each) => each.listReason)].join("")).toBe("")
      life.end()
      const objects = [...cluster.objects.values()].filter(({ namespace }) => isRequested(namespace))
      expect([...aliveAtEnd()].sort()).toEqual(objects.map(({ uid, version }) => [uid, String(version)]).sort())
      // What is missing happened during a gap, or in a namespace that was requested for less time than its first list took.
      const { events, gaps } = recorded()
      const told = new Set(events.map(({ uid, resourceVersion }) => `${uid}@${resourceVersion}`))
      const missing = made.filter(
        ({ change: { uid, version, namespace }, isRecorded }) =>
          !told.has(`${uid}@${version}`) && (isRecorded || isRequested(namespace)),
      )
      // Gaps have the recorder's times: it receives a change after it was made, and a frame is finished up to 5 ms after it was begun.
      const isCovered = ({ time }: { readonly time: number }): boolean =>
        gaps.some(({ fromTime, toTime }) => fromTime <= time + 5000 && time <= toTime)
      expect(missing.filter((each) => !isCovered(each))).toEqual([])
    }),
    { numRuns: rounds(120) },
  )
})
