/**
 * A kind that is watched namespace by namespace, over a real recording and a server that a test plays: lives that end anywhere, lists
 * of one namespace while another goes on, clusters that come back from a backup.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type KindWatch, type KindWatchOptions, watchWhole } from "../../../src/actors/watcher/kind-watch.ts"
import type { LoadedState } from "../../../src/actors/watcher/loaded-state.ts"
import { isWatchedByNamespace } from "../../../src/actors/watcher/namespace-resume.ts"
import { parseNamespaces } from "../../../src/actors/watcher/namespace-text.ts"
import { watchNamespaces } from "../../../src/actors/watcher/namespace-watch.ts"
import { defaultWatchPolicy } from "../../../src/kube/watch/policy.ts"
import { ArchiveReader } from "../../../src/trace/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/trace/archive/archive-writer.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { PlayedCluster, PlayedServer } from "./played-cluster.ts"

const kind = "v1.ConfigMap"
const both = ["shop", "stock"]

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-namespaces-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** One life of a watcher, from what is recorded; it ends when `end` is called, and of its last frames some may be lost. */
class Life {
  readonly server: PlayedServer
  readonly clock: ManualClock
  readonly watch: KindWatch
  readonly states: string[] = []
  readonly #archive: ArchiveWriter
  readonly #incarnation: number
  #frames: Buffer[] = []
  #number = 0
  #reserved = Buffer.alloc(0)

  private constructor(cluster: PlayedCluster, clock: ManualClock, namespaces: ReadonlyArray<string> | undefined) {
    this.server = new PlayedServer(cluster)
    this.clock = clock
    this.#archive = ArchiveWriter.open(directory)
    this.#incarnation = this.#archive.nextIncarnation("watcher")
    const loaded = loadedFrom(this.#archive)
    const options = this.#options(namespaces)
    this.watch = isWatchedByNamespace(namespaces, loaded.resume)
      ? watchNamespaces(options, namespaces, loaded)
      : watchWhole(options, loaded)
  }

  static async begin(
    cluster: PlayedCluster,
    clock: ManualClock,
    namespaces: ReadonlyArray<string> | undefined = both,
  ): Promise<Life> {
    const life = new Life(cluster, clock, namespaces)
    life.watch.start()
    await life.settle()
    return life
  }

  /** What was asked is answered; back-offs pass. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 4; turns++) {
      await turn()
      const waits = this.watch.sessions.some(({ phase }) => phase.tag === "backing-off")
      if (waits) this.clock.advance(60_000)
    }
    await turn()
  }

  /** Until everything is watched and nothing is left to be told. */
  async serveAll(): Promise<void> {
    for (let rounds = 0; rounds < 20; rounds++) {
      await this.settle()
      const served = both.reduce((sum, namespace) => sum + this.server.serve(namespace, 1000), 0)
      const isWatched = this.watch.sessions.every(({ phase }) => phase.tag === "watching")
      if (isWatched && served === 0) break
    }
    for (const namespace of both) this.server.bookmark(namespace)
    this.commit()
  }

  /** The store commits what was sent, or only so much of it. */
  commit(most = Number.POSITIVE_INFINITY): void {
    if (most === Number.POSITIVE_INFINITY) this.watch.recorder.frames.flush()
    const frames = this.#frames.splice(0)
    for (const frame of frames.slice(0, most)) this.#archive.append("watcher", this.#incarnation, ++this.#number, frame)
    this.#archive.commit()
    // What was lost can only be lost with the life that sent it.
    this.#frames = frames.slice(most === Number.POSITIVE_INFINITY ? frames.length : most)
  }

  /** Killed: of what was not committed so many frames arrived. */
  end(arrived = Number.POSITIVE_INFINITY): void {
    this.commit(arrived)
    for (const session of this.watch.sessions) session.stop()
    this.#frames = []
    this.#archive.close()
  }

  get state() {
    return this.#archive.kindState(kind)
  }

  #options(namespaces: ReadonlyArray<string> | undefined): KindWatchOptions {
    return {
      config: {
        gvk: kind,
        tracksPods: false,
        detect: "all",
        ignore: [],
        keepManagedFields: true,
        skipOwned: false,
        labelSelector: undefined,
        fieldSelector: undefined,
        namespaces,
        policy: { ...defaultWatchPolicy, relistLimit: 1000 },
        reportEvents: false,
        windowBytes: 0,
        bufferBytes: 0,
      },
      gvk: { group: "", version: "v1", kind: "ConfigMap" },
      client: this.server,
      outlet: {
        isWritable: true,
        reserve: (minimumBytes) => {
          this.#reserved = Buffer.alloc(Math.max(minimumBytes, 4096))
          return this.#reserved
        },
        commit: (length) => this.#frames.push(this.#reserved.subarray(0, length)),
      },
      clock: this.clock,
      random: () => 0.5,
      listener: {
        stateChanged: (state, detail) => void this.states.push(`${state}: ${detail}`),
        alarm: () => undefined,
        unauthorized: () => undefined,
        clusterIdentified: (uid) => this.#archive.metadata.set("clusterUid", uid),
      },
      recorded: undefined,
    }
  }
}

const loadedFrom = (archive: ArchiveWriter): LoadedState => {
  const { completeThrough, completeThroughTime, lastEventTime, ...rest } = archive.kindState(kind)
  const clusterUid = rest.clusterUid === "" ? (archive.metadata.get("clusterUid") ?? "") : rest.clusterUid
  return {
    resume: {
      ...rest,
      clusterUid,
      resumeVersion: completeThrough,
      completeTime: completeThroughTime,
      lastTime: lastEventTime,
    },
    objects: [...archive.liveObjects(kind)].flat(),
    pods: { nextPodNumber: 1, pods: [], lives: { resumeVersion: "", epoch: 0, completeTime: 0 } },
  }
}

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
  recorded().gaps.map(({ reason, detail, fromVersion, toVersion }) => {
    const [, namespace] = /^in namespace (\S+): /.exec(detail) ?? []
    return `${namespace} ${reason} ${fromVersion}..${toVersion}`
  })

describe("a life that ends in the middle of a list of one namespace", () => {
  test("leaves that list to the next one, and lets the other go on where it was", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    for (const namespace of both) for (const name of ["a", "b"]) cluster.put(namespace, name)
    const first = await Life.begin(cluster, clock)
    await first.serveAll()
    cluster.delete("shop", "a")
    first.server.expire("shop")
    await first.settle()
    // Known before anything of the list is.
    first.commit()
    expect(parseNamespaces(first.state.listReason)?.map(({ owes }) => owes)).toEqual(["expired", ""])
    // Half of the list, and then a change of the other.
    first.server.serve("shop", 1)
    cluster.put("stock", "a")
    first.server.serve("stock", 1)
    first.end()
    const { completeThrough, listReason } = stateNow()
    expect(parseNamespaces(completeThrough)?.map(({ version }) => version)).toEqual(["104", "104"])
    expect(parseNamespaces(listReason)).toMatchObject([
      { namespace: "shop", version: "104", owes: "expired" },
      { namespace: "stock", version: "106", owes: "" },
    ])
    const second = await Life.begin(cluster, clock)
    await second.serveAll()
    second.end()
    expect(second.server.listed).toEqual(["shop"])
    expect(brief().slice(4)).toEqual(["applied stock/a@106", "vanished shop/a@106"])
    expect(gapsIn()).toEqual(["shop expired 104..106"])
  })

  test("also of the first one, with a gap only where a part of it was recorded", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    for (const namespace of both) for (const name of ["a", "b"]) cluster.put(namespace, name)
    const first = await Life.begin(cluster, clock)
    first.server.serve("shop", 1)
    first.end()
    expect(stateNow()).toMatchObject({ completeThrough: "" })
    const second = await Life.begin(cluster, clock)
    await second.serveAll()
    second.end()
    expect(gapsIn()).toEqual(["shop stopped ..104"])
    expect(recorded().gaps[0]?.fromTime).toBeGreaterThan(0)
    expect(brief()).toHaveLength(4)
    expect(stateNow()).toMatchObject({ completeThrough: "namespaces:shop=104,stock=104", listReason: "" })
  })
})

const stateNow = () => {
  const archive = ArchiveWriter.open(directory)
  const state = archive.kindState(kind)
  archive.close()
  return state
}

test("while a namespace is not watched the kind is complete until it was last, however the others go on", async () => {
  const cluster = new PlayedCluster()
  const clock = new ManualClock()
  for (const namespace of both) cluster.put(namespace, "a")
  const life = await Life.begin(cluster, clock)
  await life.serveAll()
  const { completeThroughTime } = life.state
  life.server.hangUp("shop")
  cluster.put("stock", "a")
  life.server.serve("stock", 1)
  life.commit()
  const during = life.state
  await life.serveAll()
  expect(during.completeThroughTime).toBe(completeThroughTime)
  expect(during.listReason).toMatch(/^namespaces:shop=102@\d+,stock=103@\d+$/)
  expect(life.state).toMatchObject({ completeThrough: "namespaces:shop=103,stock=103", listReason: "" })
  expect(life.state.completeThroughTime).toBeGreaterThanOrEqual(completeThroughTime)
  life.end()
})

describe("a cluster that is restored from a backup", () => {
  test("behind one namespace is listed in all, in one epoch, also where the others' versions would have passed", async () => {
    const cluster = new PlayedCluster()
    const clock = new ManualClock()
    cluster.put("stock", "old")
    for (let index = 0; index < 20; index++) cluster.put("shop", `n-${index}`)
    const first = await Life.begin(cluster, clock)
    for (const namespace of both) first.server.serve(namespace, 1000)
    first.end()
    const backup = new PlayedCluster(cluster.uid, 100)
    backup.put("stock", "old")
    for (let index = 0; index < 10; index++) backup.put("shop", `n-${index}`)
    const second = await Life.begin(backup, clock)
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
    ],
  ),
  fc.nat(1),
  fc.nat(5),
)

test("whatever happens and wherever lives end, each namespace's recording is as if it were alone: whole but for its own gaps", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(happening, { maxLength: 80 }), async (isEstablished, happenings) => {
      rmSync(directory, { recursive: true, force: true })
      const cluster = new PlayedCluster()
      const clock = new ManualClock()
      let life = await Life.begin(cluster, clock)
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
            life.server.serve(namespace, amount)
            break
          case "bookmark":
            life.server.bookmark(namespace)
            break
          case "expire":
            life.server.expire(namespace)
            break
          case "hang up":
            life.server.hangUp(namespace)
            break
          case "commit":
            life.commit()
            break
          case "wait":
            clock.advance(amount * 300)
            break
          default:
            life.end(amount)
            life = await Life.begin(cluster, clock)
        }
        await life.settle()
      }
      await life.serveAll()
      life.end()
      const { events, gaps } = recorded()
      // It ends as the cluster is.
      const objects = [...cluster.objects.values()]
      expect([...aliveAtEnd()].sort()).toEqual(objects.map(({ uid, version }) => [uid, String(version)]).sort())
      // Nothing is told twice, a UID dies once.
      const told = events.map(({ uid, action, resourceVersion }) =>
        action === "applied" ? `${uid}@${resourceVersion}` : `end of ${uid}`,
      )
      expect(told).toHaveLength(new Set(told).size)
      // What is missing lies in a gap of the namespace itself. Before the first list nobody promises anything.
      for (const namespace of isEstablished ? both : []) {
        const own = gaps.filter(({ detail }) => detail.startsWith(`in namespace ${namespace}: `))
        const versions = new Set(events.map(({ resourceVersion }) => Number(resourceVersion)))
        const missing = cluster.changes.filter(
          (change) => change.namespace === namespace && !versions.has(change.version),
        )
        const isCovered = ({ version }: { readonly version: number }): boolean =>
          own.some((gap) => Number(gap.fromVersion) < version && version <= Number(gap.toVersion))
        expect(missing.filter((change) => !isCovered(change))).toEqual([])
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
