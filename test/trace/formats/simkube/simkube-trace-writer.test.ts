import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  decodeMessagePack,
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  memorySpool,
  type OwnedLifecycles,
  parseExactJson,
  readSimkubeTrace,
  type SimkubeChange,
  type SimkubeTraceItem,
  type SimkubeTraceOptions,
  SimkubeTraceWriter,
  type Spool,
  sanitise,
  simkubeHash,
  simkubeType,
  specOf,
  type TrackedObject,
  UnwritableChangeError,
} from "../../../../src/trace/index.ts"
import { withoutGeneratedByCluster } from "../../generated-by-cluster.ts"
import { jsonObject, jsonValue, objectOf } from "../../json-values.ts"
import { goldenTrace, type RecordingName, watchLines } from "../../recording.ts"

const START = 1_795_253_307
const SECOND = 1_000_000
const tracked: TrackedObject = { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }
const trackedObjects = new Map([
  ["apps/v1.Deployment", tracked],
  ["v1.Pod", tracked],
])

const writer = (options: Partial<SimkubeTraceOptions> = {}): SimkubeTraceWriter =>
  new SimkubeTraceWriter({ trackedObjects, startSeconds: START, spool: memorySpool(), ...options })

const deployment = (name: string, spec: JsonObject = {}) => ({
  gvk: "apps/v1.Deployment",
  namespace: "a",
  name,
  object: { metadata: { name, namespace: "a" }, spec },
})
const applied = (name: string, seconds: number, spec: JsonObject = {}): SimkubeChange => ({
  ...deployment(name, spec),
  action: "applied",
  time: (START + seconds) * SECOND,
})
const deleted = (name: string, seconds: number): SimkubeChange => {
  const { object: _, ...rest } = deployment(name)
  return { ...rest, action: "deleted", time: (START + seconds) * SECOND }
}

const file = (from: SimkubeTraceWriter, lifecycles: Iterable<OwnedLifecycles> = []): Uint8Array =>
  Buffer.concat([...from.finish(lifecycles)])

const items = (from: SimkubeTraceWriter, lifecycles: Iterable<OwnedLifecycles> = []): SimkubeTraceItem[] => [
  ...readSimkubeTrace([file(from, lifecycles)]),
]

/** `12 +web` for web applied at second 12 after the start, `-web` deleted; `12` alone opens an event. */
const story = (from: SimkubeTraceWriter): string[] =>
  items(from).flatMap((item) => {
    if (item.type === "event") return [`${item.seconds - START}`]
    if (item.type !== "applied" && item.type !== "deleted") return []
    return [`${item.type === "applied" ? "+" : "-"}${(item.object.metadata as JsonObject).name}`]
  })

describe("writing a SimKube trace", () => {
  test.each<RecordingName>(["recording", "recording-2"])(
    "the watch lines of %s give the events, objects and index entries that SimKube 2.7 recorded of them",
    (recording) => {
      // SimKube keeps `status`, and what its cluster generated.
      const golden = [...readSimkubeTrace([goldenTrace(recording)])].map((item) => {
        if (item.type !== "applied") return item
        const { status: _, ...object } = item.object
        return { ...item, object: withoutGeneratedByCluster(object) }
      })
      const config = golden.find((item) => item.type === "config")
      const head = golden.find((item) => item.type === "event")
      if (config === undefined || head === undefined) throw new Error("the golden trace has no config or no event")
      const ours = writer({ trackedObjects: config.trackedObjects, startSeconds: head.seconds })
      const hashes = new Map<string, bigint>()
      for (const line of watchLines(recording, config.trackedObjects)) {
        const object = parseExactJson(line.object)
        const type = simkubeType(line.gvk)
        if (type === undefined || !isJsonObject(object) || !isJsonObject(object.metadata)) throw new Error(line.gvk)
        const { namespace, name, uid, ownerReferences } = object.metadata
        // The filters of that export, and its ownership filter: every owner in these recordings was exported.
        if (namespace === "kube-system" || ownerReferences !== undefined) continue
        const change = { gvk: line.gvk, namespace: String(namespace), name: String(name), time: line.time }
        if (line.type === "DELETED") ours.add({ ...change, action: "deleted" })
        else {
          // SimKube records an object only when its spec changes.
          const hash = simkubeHash(specOf(sanitise(type, object)))
          if (hashes.get(String(uid)) === hash) continue
          hashes.set(String(uid), hash)
          ours.add({ ...change, action: "applied", object })
        }
      }
      const withoutLifecycles = (list: ReadonlyArray<SimkubeTraceItem>): unknown[] =>
        list.filter((item) => item.type !== "lifecycles" && item.type !== "index")
      const written = items(ours)
      expect(withoutLifecycles(written)).toEqual(withoutLifecycles(golden))
      const namesOf = (list: ReadonlyArray<SimkubeTraceItem>): unknown[] =>
        list.flatMap((item) => (item.type === "index" ? [`${item.gvk} ${item.name}`] : [])).sort()
      expect(namesOf(written)).toEqual(namesOf(golden))
    },
  )

  test("a window from 0 on starts with its first change: SimKube's driver would sleep for 56 years before it", () => {
    for (const startSeconds of [0, -5]) {
      const from = writer({ startSeconds, endMarkerSeconds: START + 20 })
      from.add(applied("web", 12))
      expect(story(from)).toEqual(["12", "12", "+web", "20"])
      expect(story(writer({ startSeconds, endMarkerSeconds: START + 20 }))).toEqual(["20", "20"])
    }
  })

  test("an empty recording still has its head event, its configuration and the other sections", () => {
    expect(decodeMessagePack(file(writer()))).toEqual(
      new Map<string, unknown>([
        ["version", 2],
        [
          "config",
          new Map([
            [
              "trackedObjects",
              new Map([
                ["apps/v1.Deployment", new Map([["podSpecTemplatePaths", ["/spec/template"]]])],
                ["v1.Pod", new Map([["podSpecTemplatePaths", [""]]])],
              ]),
            ],
          ]),
        ],
        [
          "events",
          [
            new Map<string, unknown>([
              ["ts", START],
              ["applied_objs", []],
              ["deleted_objs", []],
            ]),
          ],
        ],
        ["index", new Map()],
        ["pod_lifecycles", new Map()],
      ]),
    )
  })

  test("the start snapshot fills the head event, and a change of that second gets an event of its own", () => {
    const trace = writer()
    trace.addSnapshot(deployment("one"))
    trace.addSnapshot(deployment("two"))
    trace.add(applied("three", 0))
    expect(() => trace.addSnapshot(deployment("late"))).toThrow("the start snapshot must be complete")
    expect(story(trace)).toEqual(["0", "+one", "+two", "0", "+three"])
  })

  test("changes of one second share an event, applies before deletes", () => {
    const trace = writer()
    for (const change of [applied("one", 5), applied("two", 5.2), deleted("one", 5.9), deleted("two", 5.99)])
      trace.add(change)
    expect(story(trace)).toEqual(["0", "5", "+one", "+two", "-one", "-two"])
  })

  test("a delete and a re-creation within one second become two events of that second (W-05)", () => {
    const trace = writer()
    for (const change of [applied("web", 5), deleted("web", 5.1), applied("web", 5.2, { x: 1 }), deleted("web", 5.3)])
      trace.add(change)
    expect(story(trace)).toEqual(["0", "5", "+web", "-web", "5", "+web", "-web"])
  })

  test("a change that changes nothing of what is written is left out and counted, whatever the status says", () => {
    const trace = writer()
    const web = (seconds: number, replicas: number, readyReplicas: number): SimkubeChange => ({
      ...deployment("web"),
      action: "applied",
      time: (START + seconds) * SECOND,
      object: {
        metadata: { name: "web", namespace: "a", resourceVersion: String(readyReplicas) },
        spec: { replicas },
        status: { readyReplicas },
      },
    })
    trace.addSnapshot(deployment("web", { replicas: 1 }))
    for (const [second, replicas] of [1, 1, 2, 2, 1].entries()) trace.add(web(second + 1, replicas, second))
    trace.add(deleted("web", 7))
    // After a deletion it is a new object, even if it looks the same.
    for (const second of [8, 9]) trace.add(web(second, 1, second))
    expect(story(trace)).toEqual(["0", "+web", "3", "+web", "5", "+web", "7", "-web", "8", "+web"])
    expect(trace.unchanged).toBe(4)
  })

  test("an unchanged object among any number of others is recognized, and leaves their hashes alone", () => {
    const trace = writer()
    const names = Array.from({ length: 1000 }, (_, index) => `web-${index}`)
    const hashes = names.map((name, replicas) => {
      trace.add(applied(name, 1, { replicas }))
      return simkubeHash({ replicas })
    })
    for (const [replicas, name] of names.entries()) trace.add(applied(name, 2, { replicas }))
    expect(trace.unchanged).toBe(1000)
    expect(items(trace).flatMap((item) => (item.type === "index" ? [item.hash] : []))).toEqual(hashes)
  })

  test("a time earlier than the previous one does not go back", () => {
    const trace = writer()
    for (const change of [applied("early", -10), applied("web", 5), applied("other", 4)]) trace.add(change)
    expect(story(trace)).toEqual(["0", "0", "+early", "5", "+web", "+other"])
  })

  test("whatever happens in whatever second, replaying the trace gives the order of adding", () => {
    const changes = fc.array(
      fc.tuple(fc.boolean(), fc.constantFrom("x", "y", "z"), fc.integer({ min: 0, max: 1_500_000 })),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(changes, (list) => {
        const trace = writer()
        let time = 0
        const expected: string[] = []
        for (const [replicas, [isApplied, name, delay]] of list.entries()) {
          time += delay
          trace.add(isApplied ? applied(name, time / SECOND, { replicas }) : deleted(name, time / SECOND))
          expected.push(`${Math.floor(time / SECOND)} ${isApplied ? "+" : "-"}${name}`)
        }
        let seconds = ""
        const replayed: string[] = []
        const times: number[] = []
        for (const step of story(trace)) {
          if (/^\d/.test(step)) {
            seconds = step
            times.push(Number(step))
          } else replayed.push(`${seconds} ${step}`)
        }
        expect(replayed).toEqual(expected)
        expect(times).toEqual([...times].sort((a, b) => a - b))
      }),
    )
  })

  test("the index keeps the hash of the spec applied last, even of deleted objects", () => {
    const trace = writer()
    trace.addSnapshot(deployment("one", { replicas: 1 }))
    for (const change of [applied("one", 1, { replicas: 42 }), applied("two", 2, {}), deleted("two", 3)])
      trace.add(change)
    trace.add({
      gvk: "v1.Pod",
      namespace: "",
      name: "p",
      action: "applied",
      time: 4,
      object: { spec: { nodeName: "n" } },
    })
    expect(items(trace).filter((item) => item.type === "index")).toEqual([
      { type: "index", gvk: "apps/v1.Deployment", name: "a/one", hash: 3664028200602729212n },
      { type: "index", gvk: "apps/v1.Deployment", name: "a/two", hash: 15130871412783076140n },
      { type: "index", gvk: "v1.Pod", name: "p", hash: 15130871412783076140n },
    ])
  })

  test("kinds that are not tracked, or that SimKube could not read, are left out and counted", () => {
    const trace = writer({ trackedObjects: new Map([...trackedObjects, ["v1.ConfigMap", tracked]]) })
    trace.addSnapshot({ ...deployment("map"), gvk: "v1.ConfigMap" })
    trace.add({ ...deleted("map", 1), gvk: "v1.ConfigMap" } as SimkubeChange)
    trace.add({ ...applied("node", 1), gvk: "v1.Node" } as SimkubeChange)
    expect(Object.fromEntries(trace.leftOut)).toEqual({ "v1.ConfigMap": 2, "v1.Node": 1 })
    expect(story(trace)).toEqual(["0"])
  })

  test("an object that cannot be written leaves the trace unchanged", () => {
    const deep = parseExactJson(`${'{"a":'.repeat(1100)}1${"}".repeat(1100)}`) as JsonObject
    const trace = writer()
    trace.add(applied("web", 5))
    const refused = { gvk: "apps/v1.Deployment", namespace: "a", name: "deep" }
    expect(() => trace.add(applied("deep", 6, deep))).toThrow(UnwritableChangeError)
    expect(() => trace.add(applied("deep", 6, deep))).toThrow(expect.objectContaining(refused))
    trace.add(applied("other", 7))
    expect(story(trace)).toEqual(["0", "5", "+web", "7", "+other"])
  })

  test("an end marker keeps a replay alive until the window's end, if wanted (W-34)", () => {
    const trace = writer({ endMarkerSeconds: START + 60 })
    trace.add(applied("web", 5))
    expect(story(trace)).toEqual(["0", "5", "+web", "60"])
    const late = writer({ endMarkerSeconds: START + 60 })
    late.add(applied("web", 70))
    expect(story(late)).toEqual(["0", "70", "+web", "70"])
  })

  test("lifecycles are written for owners in the index that have pods", () => {
    const trace = writer()
    trace.add(applied("web", 5))
    const pods: OwnedLifecycles["pods"] = new Map([
      [
        18446744073709551615n,
        [{ state: "empty" }, { state: "running", start: 5 }, { state: "finished", start: 5, end: 6 }],
      ],
      [1n, [{ state: "running", start: 2 ** 33 }]],
    ])
    const owned = (owner: string, of: OwnedLifecycles["pods"]): OwnedLifecycles => ({
      gvk: "apps/v1.Deployment",
      owner,
      pods: of,
    })
    const lifecycles = [owned("a/web", pods), owned("a/gone", pods), owned("a/web", new Map([[2n, []]]))]
    expect(items(trace, lifecycles).filter((item) => item.type === "lifecycles")).toEqual([
      { type: "lifecycles", ...owned("a/web", pods) },
    ])
  })

  test("SimKube's own lifecycles are written as SimKube wrote them", () => {
    const golden = decodeMessagePack(goldenTrace("recording-2")) as ReadonlyMap<string, unknown>
    const trace = writer({
      trackedObjects: new Map([["ml.example.com/v1.Training", { ...tracked, podSpecTemplatePaths: ["/x"] }]]),
    })
    trace.addSnapshot({ gvk: "ml.example.com/v1.Training", namespace: "lab", name: "resnet", object: {} })
    const lifecycles = [...readSimkubeTrace([goldenTrace("recording-2")])].filter((item) => item.type === "lifecycles")
    const written = decodeMessagePack(file(trace, lifecycles)) as ReadonlyMap<string, unknown>
    const ofTraining = (sections: ReadonlyMap<string, unknown>): unknown[] =>
      [...(sections.get("pod_lifecycles") as ReadonlyMap<[string, string], unknown>)].filter(
        ([[gvk]]) => gvk === "ml.example.com/v1.Training",
      )
    expect(ofTraining(written)).toEqual(ofTraining(golden))
    expect(ofTraining(written)).toHaveLength(1)
  })
})

describe("an object as it was recorded", () => {
  const recorded: fc.Arbitrary<JsonObject> = fc
    .record({ metadata: jsonObject, managedFields: jsonValue, owners: fc.subarray(["u1", "u2"]), others: jsonObject })
    .map(({ metadata, managedFields, owners, others }) => {
      const references = owners.map((uid) => ({ apiVersion: "v1", kind: "Node", name: uid, uid }))
      const more: ReadonlyArray<readonly [string, JsonValue]> = [
        ["managedFields", managedFields],
        ...(references.length > 0 ? [["ownerReferences", references] as const] : []),
      ]
      return objectOf([...Object.entries(others), ["metadata", objectOf([...Object.entries(metadata), ...more])]])
    })

  test("is written like the same one parsed, byte for byte", () => {
    const kept = fc.subarray(["u1", "u2", "u3"])
    fc.assert(
      fc.property(fc.array(fc.tuple(recorded, kept), { maxLength: 8 }), fc.nat(8), (objects, inSnapshot) => {
        let keptOwners: ReadonlyArray<string> = []
        const direct = writer({ isOwnerInTrace: (_, { uid }) => keptOwners.includes(uid as string) })
        const ours = writer()
        objects.forEach(([source, keptHere], index) => {
          keptOwners = keptHere
          const named = { gvk: index % 2 === 0 ? "v1.Pod" : "apps/v1.Deployment", namespace: "a", name: `${index % 3}` }
          const json = Buffer.from(formatExactJson(source))
          const object = parseExactJson(json) as JsonObject
          const time = (START + index) * SECOND
          if (index < inSnapshot) {
            direct.addSnapshot({ ...named, object })
            ours.addRecordedSnapshot(named, { json, keptOwners })
          } else {
            direct.add({ ...named, action: "applied", time, object })
            ours.addRecorded({ ...named, time }, { json, keptOwners })
          }
        })
        expect(Buffer.from(file(ours)).equals(file(direct))).toBe(true)
        expect(ours.unchanged).toBe(direct.unchanged)
      }),
    )
  })

  test.each([
    ["bytes that are not JSON", '{"spec":', "not valid JSON"],
    ["JSON that is not an object", "[1]", "not a JSON object"],
    ["an object that nests too deeply", `{"spec":${"[".repeat(MAX_DEPTH)}${"]".repeat(MAX_DEPTH)}}`, "levels"],
  ])("is refused with its name if it is %s, and leaves the trace unchanged", (_, json, detail) => {
    const ours = writer()
    const named = { gvk: "v1.Pod", namespace: "a", name: "web", time: START * SECOND }
    const add = (): void => ours.addRecorded(named, { json: Buffer.from(json), keptOwners: [] })
    expect(add).toThrow(UnwritableChangeError)
    expect(add).toThrow(detail)
    expect(Buffer.from(file(ours)).equals(file(writer()))).toBe(true)
  })
})

describe("the events before they are written", () => {
  /** Records how many bytes it got and in which pieces. */
  const countingSpool = (): Spool & { readonly appends: number[] } => {
    const spool = memorySpool()
    const appends: number[] = []
    return {
      appends,
      get length() {
        return spool.length
      },
      append: (bytes) => {
        appends.push(bytes.length)
        spool.append(bytes)
      },
      read: () => spool.read(),
      copyOf: (start, length) => spool.copyOf(start, length),
      [Symbol.dispose]: () => spool[Symbol.dispose](),
    }
  }

  test("go to the spool in writes of 64 KiB and more, not one by one", () => {
    const spool = countingSpool()
    const trace = writer({ spool })
    for (let index = 0; index < 5000; index++) trace.add(applied(`web-${index}`, index))
    const chunks = [...trace.finish()]
    expect(spool.appends.length).toBeGreaterThan(5)
    expect(Math.min(...spool.appends.slice(0, -1))).toBeGreaterThanOrEqual(65_536)
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(3 * 65_536)
    expect(new Set(chunks.map((chunk) => chunk.buffer)).size).toBe(chunks.length)
  })

  test("leave memory in parts when they are large, with the same result", () => {
    const padding = "x".repeat(100_000)
    const build = (size: number): [SimkubeTraceWriter, ReturnType<typeof countingSpool>] => {
      const spool = countingSpool()
      const trace = writer({ spool })
      for (let index = 0; index < 3 * size; index++) trace.addSnapshot(deployment(`s-${index}`, { padding, index }))
      trace.add(applied("small", 1))
      for (let index = 0; index < size; index++) trace.add(applied(`b-${index}`, 2, { padding }))
      for (let index = 0; index < 2000 * size; index++) trace.add(deleted(`${padding.slice(0, 50)}-${index}`, 2))
      trace.add(deleted("small", 3))
      for (let index = 0; index < 2000 * size; index++) trace.add(deleted(`${padding.slice(0, 50)}-${index}`, 4))
      return [trace, spool]
    }
    const [trace, spool] = build(12)
    const decoded = decodeMessagePack(file(trace)) as ReadonlyMap<string, ReadonlyArray<ReadonlyMap<string, unknown>>>
    const shape = decoded.get("events")?.map((event) => {
      const counts = ["applied_objs", "deleted_objs"].map((key) => (event.get(key) as unknown[]).length)
      return [event.get("ts"), ...counts]
    })
    expect(shape).toEqual([
      [START, 36, 0],
      [START + 1, 1, 0],
      [START + 2, 12, 24_000],
      [START + 3, 0, 1],
      [START + 4, 0, 24_000],
    ])
    expect(Math.max(...spool.appends)).toBeLessThan(1.3 * 1024 * 1024)
    const snapshot = decoded.get("events")?.[0]?.get("applied_objs") as ReadonlyArray<ReadonlyMap<string, unknown>>
    expect(snapshot.map((object) => (object.get("spec") as ReadonlyMap<string, unknown>).get("index"))).toEqual(
      Array.from({ length: 36 }, (_, index) => index),
    )
  })

  test("objects are read back as they were written", () => {
    const specs: JsonObject[] = [{ big: 9007199254740993n, neg: -3, ratio: 0.5 }, { text: "ünï ☃ 𝄞" }]
    const trace = writer()
    for (const [index, spec] of specs.entries()) trace.add(applied(`web-${index}`, index, spec))
    const read = items(trace).flatMap((item) => (item.type === "applied" ? [item.object.spec] : []))
    expect(isDeepStrictEqual(read, specs)).toBe(true)
  })
})
