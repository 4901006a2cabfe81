/** The recording sink against a plain model of a cluster, over random histories with lists, restarts and epochs. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { rounds } from "../../harness/effort.ts"
import { type BenchOptions, type KubernetesObject, object, SinkBench } from "./sink-bench.ts"

/** What happens to the cluster and to the recorder. */
interface Happening {
  readonly what:
    | "put"
    | "delete"
    | "recreate"
    | "bookmark"
    | "relist"
    | "broken list"
    | "restore"
    | "read"
    | "wait"
    | "restart"
  readonly name: string
  readonly size: number
  /** Whether the recorder receives it as an event; otherwise the next list must reveal it. */
  readonly isSeen: boolean
}

const happenings: fc.Arbitrary<ReadonlyArray<Happening>> = fc.array(
  fc.record({
    what: fc.constantFrom<Happening["what"]>(
      ...(["put", "put", "put", "delete", "recreate", "bookmark", "relist", "broken list", "restore"] as const),
      ...(["read", "wait", "restart"] as const),
    ),
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    size: fc.oneof(fc.nat(50), fc.constantFrom(3000, 70_000, 300_000)),
    isSeen: fc.boolean(),
  }),
  { maxLength: 60 },
)

/** The cluster's actual state, and the recorder that watches it, life after life. */
class Model {
  readonly cluster = new Map<string, KubernetesObject>()
  /** Versions of one UID in the order of observation, with `deleted` where it ended in an event. */
  readonly seen: string[] = []
  bench: SinkBench
  version = 10
  epoch = 0
  #uid = 0
  /** True while every change was received: then no list is due. */
  isComplete = true
  readonly #options: BenchOptions

  constructor(options: BenchOptions) {
    this.#options = options
    this.bench = new SinkBench(options)
    this.list("first")
  }

  put(name: string, size: number, isSeen: boolean): void {
    const uid = this.cluster.get(name)?.metadata.uid ?? `uid-${++this.#uid}`
    const put = object(name, ++this.version, { metadata: { uid }, data: "x".repeat(size) })
    this.cluster.set(name, put)
    this.#happened(isSeen, () => this.bench.applied(put))
  }

  delete(name: string, isSeen: boolean): void {
    const last = this.cluster.get(name)
    if (last === undefined) return
    this.cluster.delete(name)
    const deleted = { ...last, metadata: { ...last.metadata, resourceVersion: String(++this.version) } }
    this.#happened(isSeen, () => this.bench.deleted(deleted))
  }

  list(reason: "first" | "expired" | "cluster-restored"): void {
    const objects = [...this.cluster.values()].sort(() => (this.version % 2 === 0 ? -1 : 1))
    this.bench.list(reason, String(this.version), ...objects)
    this.isComplete = true
  }

  /** Another history: every object has a lower version, and some are gone. */
  restore(): void {
    this.epoch++
    this.version = 10
    for (const [name, known] of this.cluster) {
      if (known.metadata.uid.endsWith("3")) this.cluster.delete(name)
      else
        this.cluster.set(name, { ...known, metadata: { ...known.metadata, resourceVersion: String(++this.version) } })
    }
    this.bench.sink.epochStarted("restored")
    this.list("cluster-restored")
  }

  /** The recorder ends and starts again with the state that the store would send. */
  restart(): void {
    if (!this.isComplete) this.list("expired")
    const { bench } = this
    bench.recorder.frames.close()
    expect(bench.clock.pending).toBe(0)
    this.check()
    this.bench = new SinkBench({
      ...this.#options,
      objects: bench.stored(),
      resumeVersion: bench.completeThrough,
      epoch: this.epoch,
      lastTime: bench.recorder.frames.lastTime,
    })
  }

  /** The frames agree with the cluster once nothing is missing. */
  check(): void {
    if (!this.isComplete) this.list("expired")
    const { bench } = this
    bench.recorder.frames.flush()
    const alive = bench.stored().map(({ name, uid }) => `${name} ${uid}`)
    const expected = [...this.cluster.values()].map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
    expect(alive.sort()).toEqual(expected.sort())
    expect(bench.recorder.index.size).toBe(expected.length)
    const states = new Map(bench.events().map(({ name, json }) => [name, json]))
    for (const [name, known] of this.cluster) {
      const json = states.get(name)
      if (json !== undefined) expect((JSON.parse(json) as KubernetesObject).data).toEqual(known.data)
    }
  }

  #happened(isSeen: boolean, tell: () => void): void {
    // Events arrive in order or not at all: after a missed one only a list helps.
    if (isSeen && this.isComplete) tell()
    else this.isComplete = false
  }
}

const run = (options: BenchOptions, history: ReadonlyArray<Happening>): Model => {
  const model = new Model(options)
  for (const { what, name, size, isSeen } of history) {
    const { bench } = model
    if (what === "put") model.put(name, size, isSeen)
    else if (what === "delete") model.delete(name, isSeen)
    else if (what === "recreate") {
      model.delete(name, isSeen)
      model.put(name, size, isSeen)
    } else if (what === "bookmark" && model.isComplete) bench.sink.progressed(String(++model.version))
    else if (what === "relist") model.list("expired")
    else if (what === "broken list") {
      bench.sink.listStarted("expired")
      for (const known of model.cluster.values()) if (known.metadata.name < name) bench.observe(1, true, known)
      model.isComplete = false
    } else if (what === "restore") model.restore()
    else if (what === "read") bench.sink.readDone()
    else if (what === "wait") {
      bench.clock.offsetMicros += isSeen ? size : -size * 1000
      bench.clock.advance(size % 10)
    } else if (what === "restart") model.restart()
  }
  return model
}

describe.each(["all", "content"] as const)("with detect: %s", (detect) => {
  test("for any events, the recording ends in the state of the cluster, and never contains anything impossible", () => {
    fc.assert(
      fc.property(happenings, (history) => {
        run({ detect, slabBytes: 64 * 1024 }, history).check()
      }),
      { numRuns: rounds(200) },
    )
  })

  test("no frame states more than has been recorded", () => {
    fc.assert(
      fc.property(happenings, (history) => {
        const { bench } = run({ detect, slabBytes: 64 * 1024 }, history)
        let [epoch, promised] = [-1, -1]
        for (const frame of bench.frames()) {
          if (frame.epoch !== epoch) [epoch, promised] = [frame.epoch, -1]
          if (frame.completeThrough === "") continue
          // A recorder that ended in between would lose an event at or below a version stated before.
          const versions = frame.events
            .filter(({ action }) => action !== "vanished")
            .map(({ version }) => Number(version))
          if (frame.gaps.length === 0) for (const version of versions) expect(version).toBeGreaterThan(promised)
          for (const version of versions) expect(Number(frame.completeThrough)).toBeGreaterThanOrEqual(version)
          expect(Number(frame.completeThrough)).toBeGreaterThanOrEqual(promised)
          promised = Number(frame.completeThrough)
        }
      }),
      { numRuns: rounds(200) },
    )
  })
})
