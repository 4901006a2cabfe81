/** A window of the past: the same bytes whenever it is exported, and what is said of changes that were received later than they happened. */
import { describe, expect, onTestFinished, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveReader, ArchiveWriter } from "../../../src/archive/index.ts"
import { SimkubeTraceReader } from "../../../src/trace/index.ts"
import { type LateRange, type NewObject, ObservationsBuilder, type PodLife } from "../../../src/wire/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { exportJob } from "./export-job.ts"

const deployments = "apps/v1.Deployment"
const replicaSets = "apps/v1.ReplicaSet"
const second = 1_000_000
/** A whole second. */
const start = 1_763_700_000 * second
const at = (seconds: number): number => start + seconds * second

interface Owner {
  readonly kind: "Deployment" | "ReplicaSet"
  readonly name: string
}

const referencesTo = (owner: Owner | undefined) =>
  owner === undefined ? [] : [{ apiVersion: "apps/v1", ...owner, uid: `uid-${owner.name}`, controller: true }]

/** Writes as watchers do; times are seconds after the start. */
class Recording {
  readonly directory = temporaryDirectory()
  readonly #writer = ArchiveWriter.open(this.directory, { recordedKinds: [deployments, replicaSets] })
  readonly #memory = Buffer.alloc(64 * 1024)
  readonly #numbers = new Map<string, number>()
  #frame = 0
  #version = 0

  constructor() {
    onTestFinished(() => this.#writer.close())
  }

  change(kind: "Deployment" | "ReplicaSet", name: string, happened: number, more: Change = {}): void {
    const gvk = `apps/v1.${kind}`
    const key = `${gvk} ${name}`
    const { owner, received, lateRange, spec = { replicas: ++this.#version } } = more
    if (!this.#numbers.has(key))
      this.#numbers.set(key, [...this.#numbers.keys()].filter((each) => each.startsWith(gvk)).length + 1)
    const objectNumber = this.#numbers.get(key) as number
    const ownerReferences = referencesTo(owner)
    const uid = `uid-${name}`
    const metadata = { name, namespace: "shop", uid, ...(owner && { ownerReferences }) }
    const bytes = Buffer.from(JSON.stringify({ metadata, spec: { ...spec, template: { spec: {} } } }))
    const object: NewObject = {
      ...{ number: objectNumber, uid, namespace: "shop", name },
      ...(owner && { ownerReferences: Buffer.from(JSON.stringify(ownerReferences)) }),
    }
    this.#send(gvk, (builder) => {
      builder.addObject(object)
      const times = { timeMicros: at(happened), receivedMicros: received === undefined ? 0 : at(received) }
      builder.append(frameEvent({ objectNumber, ...times, version: ++this.#version, bytes }))
      if (lateRange !== undefined) builder.addLateRange(lateRange)
    })
  }

  life(pod: number, happened: number, from: number, to: number | undefined, owner?: Owner): void {
    const seconds = (after: number): number => start / second + after
    const identity = { uid: `uid-pod-${pod}`, namespace: "shop", name: `pod-${pod}`, specHash: 7n }
    const life: PodLife = {
      ...{
        pod,
        time: at(happened),
        start: seconds(from),
        end: to === undefined ? undefined : seconds(to),
        gone: false,
      },
      ...(owner && { identity, ownerReferences: Buffer.from(JSON.stringify(referencesTo(owner))) }),
    }
    this.#send("v1.Pod", (builder) => builder.addPodLife(life))
  }

  #send(gvk: string, fill: (builder: ObservationsBuilder) => void): void {
    const builder = new ObservationsBuilder(gvk, { tracksPods: gvk === "v1.Pod" })
    builder.begin(this.#memory, 0)
    fill(builder)
    this.#writer.append("watcher", 1, ++this.#frame, this.#memory.subarray(0, builder.finish()))
    this.#writer.commit()
  }

  async export(format: ExportJob["format"], [from, until]: readonly [number, number], more: Partial<ExportJob> = {}) {
    const tracked = { podSpecTemplatePaths: ["/spec/template"], trackLifecycle: true }
    const { pieces, started } = openExport(
      { directory: this.directory },
      exportJob([], {
        ...{ format, cut: this.#writer.cut(), fromTime: at(from), untilTime: at(until), knownUntil: at(until) },
        ...{ excludeOwned: true, excludeDaemonSetOwned: true, recordedKinds: [deployments, replicaSets] },
        trackedObjects: { [deployments]: tracked, [replicaSets]: tracked },
        ...more,
      }),
    )
    const all: Array<Uint8Array> = []
    for await (const piece of pieces) all.push(Uint8Array.from(piece))
    return { bytes: Buffer.concat(all), ...started }
  }
}

interface Change {
  readonly owner?: Owner
  /** Seconds after the start, if later than it happened. */
  readonly received?: number
  readonly lateRange?: LateRange
  readonly spec?: object
}

const itemsOf = (bytes: Buffer) => [...new SimkubeTraceReader().push(bytes)]

const withoutCut = (bytes: Buffer): string => bytes.toString("latin1").replace(/"cut":\s?\d+/, '"cut":0')

describe("a past window", () => {
  test.each(["ndjson", "simkube", "kwok"] as const)(
    "has the same bytes in %s whenever it is exported, its cut aside",
    async (format) => {
      const recording = new Recording()
      recording.change("Deployment", "web", 1)
      recording.change("ReplicaSet", "web-1", 2, { owner: { kind: "Deployment", name: "web" } })
      recording.change("ReplicaSet", "stray", 3)
      recording.life(1, 4, 4, undefined, { kind: "ReplicaSet", name: "web-1" })
      recording.life(2, 5, 5, undefined, { kind: "ReplicaSet", name: "web-1" })
      recording.life(2, 8, 5, 8)
      recording.change("Deployment", "web", 9)
      const early = await recording.export(format, [2, 10])

      // Pods of the window end, one by a node's clock that is behind; another is first seen that had started in it.
      recording.life(1, 12, 4, 9)
      recording.life(3, 12, 9, undefined, { kind: "ReplicaSet", name: "web-1" })
      // A pod is started again, and owners change.
      recording.life(2, 13, 5, undefined)
      recording.change("ReplicaSet", "web-1", 14)
      recording.change("ReplicaSet", "stray", 15, { owner: { kind: "Deployment", name: "web" } })
      for (let index = 0; index < 50; index++) recording.change("Deployment", `later-${index}`, 20 + index)
      recording.change("Deployment", "web", 80, {
        received: 95,
        lateRange: { ...late(75, 95, 95, 1) },
      })
      const later = await recording.export(format, [2, 10])
      expect(withoutCut(later.bytes)).toBe(withoutCut(early.bytes))
      expect(later).toMatchObject({ gaps: early.gaps, late: [], warnings: early.warnings })
      // The later recording itself is another one.
      expect(withoutCut((await recording.export(format, [2, 30])).bytes)).not.toBe(withoutCut(early.bytes))
    },
  )

  test("shows pods that end at or after its end as running", async () => {
    const recording = new Recording()
    recording.change("Deployment", "web", 1)
    for (const [pod, end] of [5, 9, 10, 11].entries()) {
      recording.life(pod + 1, 2, 2, undefined, { kind: "Deployment", name: "web" })
      // Nodes whose clocks are ahead: seen before the end of the window.
      recording.life(pod + 1, 9.5, 2, end)
    }
    const { bytes } = await recording.export("simkube", [0, 10])
    const ends = itemsOf(bytes).flatMap((item) =>
      item.type !== "lifecycles"
        ? []
        : [...item.pods.values()].flat().map((life) => ("end" in life ? life.end - start / second : life.state)),
    )
    expect(ends).toEqual([5, 9, "running", "running"])
  })
})

const late = (from: number, to: number, received: number, events: number): LateRange => ({
  ...{ notBefore: at(from), notAfter: at(to), receivedFrom: at(received), receivedTo: at(received), events },
  ...{ cause: "stopped", namespace: "" },
})

describe("changes that were received late", () => {
  const withOutage = (): Recording => {
    const recording = new Recording()
    recording.change("Deployment", "web", 1)
    recording.change("Deployment", "web", 12, { received: 24, lateRange: late(10, 24, 24, 1) })
    recording.change("Deployment", "web", 18, { received: 24, lateRange: late(10, 24, 24, 1) })
    recording.change("Deployment", "web", 30)
    return recording
  }
  const lines = (bytes: Buffer) =>
    bytes
      .toString()
      .trimEnd()
      .split("\n")
      .map(
        (line) => JSON.parse(line) as { time?: number; received?: number; late?: object; times?: string; end?: object },
      )

  test("are in the window in which they happened, named in its header and by the exporter", async () => {
    const { bytes, late: named } = await withOutage().export("ndjson", [10, 20])
    const [header, ...rest] = lines(bytes)
    const range = {
      ...{
        gvk: deployments,
        namespace: "",
        notBefore: at(10),
        notAfter: at(24),
        receivedFrom: at(24),
        receivedTo: at(24),
      },
      ...{ events: 2, cause: "stopped" },
    }
    expect(header?.late).toEqual([range])
    expect(named).toEqual([range])
    expect(rest.map(({ time, received }) => [time, received])).toEqual([
      [at(1), undefined],
      [at(12), at(24)],
      [at(18), at(24)],
      [undefined, undefined],
    ])
  })

  test("are not named by a window that none of them can belong to", async () => {
    const recording = withOutage()
    expect((await recording.export("ndjson", [0, 10])).late).toEqual([])
    expect((await recording.export("ndjson", [25, 40])).late).toEqual([])
    expect(lines((await recording.export("ndjson", [25, 40])).bytes)[0]).not.toHaveProperty("late")
  })

  test("are in a window by receipt when they were received, and it says so", async () => {
    const recording = withOutage()
    const times = { times: "received" } as const
    const [header, ...rest] = lines((await recording.export("ndjson", [20, 40], times)).bytes)
    expect(header).toMatchObject({ times: "received", late: [{ events: 2 }] })
    expect(rest.map(({ time, received }) => [time, received])).toEqual([
      [at(1), undefined],
      [at(24), undefined],
      [at(24), undefined],
      [at(30), undefined],
      [undefined, undefined],
    ])
    const [, ...before] = lines((await recording.export("ndjson", [10, 20], times)).bytes)
    expect(before.map(({ time }) => time)).toEqual([at(1), undefined])
  })

  test("leave in replay formats with the times at which they happened", async () => {
    const recording = withOutage()
    const { bytes } = await recording.export("simkube", [0, 40])
    const times = itemsOf(bytes).flatMap((item) => (item.type === "event" ? [item.seconds - start / second] : []))
    expect(times).toEqual(expect.arrayContaining([1, 12, 18, 30]))
    expect(times).not.toContain(24)
    const kwok = (await recording.export("kwok", [0, 40])).bytes.toString()
    expect(kwok).not.toContain("received")
  })

  test("in countless ranges are joined by kind and cause, so that the first line stays short", async () => {
    const recording = new Recording()
    recording.change("Deployment", "web", 0)
    for (let index = 1; index <= 1100; index++)
      recording.change("Deployment", "web", index, { received: index + 1, lateRange: late(index, index, index + 1, 1) })
    const { late: named } = await recording.export("ndjson", [0, 2000])
    expect(named).toEqual([
      {
        ...{ gvk: deployments, namespace: "", notBefore: at(1), notAfter: at(1100), receivedFrom: at(2) },
        ...{ receivedTo: at(1101), events: 1100, cause: "stopped" },
      },
    ])
    const reader = ArchiveReader.open(recording.directory)
    expect(reader.lateRanges()).toHaveLength(1100)
    reader.close()
  })
})
