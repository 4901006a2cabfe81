/** Pod lifecycles as the recording sink follows them, alone and together with their events. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { stablePodSpecHash } from "../../../src/trace/index.ts"
import type { StoredPod } from "../../../src/wire/index.ts"
import { decodeObservations, type PodLife } from "../../../src/wire/observations.ts"
import { rounds } from "../../harness/effort.ts"
import { storedAfter } from "./frame-reader.ts"
import { type KubernetesObject, object, SinkBench } from "./sink-bench.ts"

const noPods = { nextPodNumber: 1, pods: [], interrupted: [] }
const spec = { containers: [{ name: "main", image: "web:1" }] }
const owner = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "6986996b-0000-4000-8000-36cdd2cc8983" }]

/** Seconds since the Unix epoch as the API server writes them. */
const at = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
const running = (seconds: number) => ({ running: { startedAt: at(seconds) } })
const ended = (start: number, end: number) => ({ terminated: { startedAt: at(start), finishedAt: at(end) } })
const pod = (name: string, version: number, state: object, metadata: object = {}): KubernetesObject =>
  object(name, version, { metadata, spec, status: { containerStatuses: [{ name: "main", state }] } })
const waiting = { waiting: { reason: "ContainerCreating" } }

/** `pod start-end`, `gone` when it is. */
const brief = (lives: ReadonlyArray<PodLife>): ReadonlyArray<string> =>
  lives.map((life) => `${life.pod} ${life.start}-${life.end ?? ""}${life.gone ? " gone" : ""}`)

describe("a pod", () => {
  test("is recorded when it runs, when it has ended, and when it is gone, and not in between", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, waiting), pod("a", 2, running(100)), pod("a", 3, running(100)))
    bench.applied(pod("a", 4, ended(100, 130)), pod("a", 5, ended(100, 130)))
    bench.deleted(pod("a", 6, ended(100, 130)))
    expect(brief(bench.lives())).toEqual(["1 100-", "1 100-130", "1 100-130 gone"])
    expect(bench.lives()[0]?.identity).toEqual({
      uid: "uid-a",
      namespace: "shop",
      name: "a",
      specHash: stablePodSpecHash(spec),
    })
    expect(
      bench
        .lives()
        .slice(1)
        .every(({ identity }) => identity === undefined),
    ).toBe(true)
    expect(bench.events()).toEqual([])
    expect(bench.completeThrough).toBe("6")
    expect(bench.recorder.podStatistics).toEqual({ records: 3, undecodable: 0, size: 0 })
  })

  test("that never ran leaves nothing behind", () => {
    const bench = new SinkBench({ pods: noPods })
    bench.applied(pod("a", 1, waiting))
    bench.deleted(pod("a", 2, waiting))
    expect(bench.lives()).toEqual([])
    expect(bench.brief()).toEqual(["applied a@1", "deleted a@2"])
  })

  test("that is deleted while it runs ends when the deletion arrived, never before it began", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    const now = Math.floor(bench.clock.wallMicros() / 1_000_000)
    bench.applied(pod("a", 1, running(now - 60)), pod("b", 2, running(now + 60)))
    bench.deleted(pod("a", 3, running(now - 60)))
    bench.deleted(pod("b", 4, running(now + 60)))
    expect(brief(bench.lives()).slice(2)).toEqual([`1 ${now - 60}-${now} gone`, `2 ${now + 60}-${now + 60} gone`])
  })

  test("that is deleted with a previously unknown end has that end", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, running(100)))
    bench.deleted(pod("a", 2, ended(100, 107)))
    expect(brief(bench.lives())).toEqual(["1 100-", "1 100-107 gone"])
  })

  test("that is first seen when it is deleted is recorded once, completely", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.deleted(pod("a", 2, ended(100, 107)))
    expect(brief(bench.lives())).toEqual(["1 100-107 gone"])
    expect(bench.lives()[0]?.identity?.uid).toBe("uid-a")
  })

  test("with a reused name is another pod (W-30)", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("db-0", 1, ended(100, 110)))
    bench.deleted(pod("db-0", 2, ended(100, 110)))
    bench.applied(pod("db-0", 3, running(120), { uid: "another" }))
    expect(brief(bench.lives())).toEqual(["1 100-110", "1 100-110 gone", "2 120-"])
  })

  test("whose container is restarted runs again, from its first start (W-35)", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, running(100)), pod("a", 2, ended(100, 110)), pod("a", 3, waiting))
    bench.applied(pod("a", 4, running(120)), pod("a", 5, ended(120, 140)))
    expect(brief(bench.lives())).toEqual(["1 100-", "1 100-110", "1 100-", "1 100-140"])
  })

  test("that is missing from a list is gone; others stay", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    const now = Math.floor(bench.clock.wallMicros() / 1_000_000)
    bench.applied(pod("a", 1, running(100)), pod("b", 2, running(100)), pod("c", 3, ended(100, 110)))
    bench.list("expired", "9", pod("b", 2, running(100)))
    expect(brief(bench.lives()).slice(3).sort()).toEqual([`1 100-${now} gone`, "3 100-110 gone"])
    expect(bench.gaps()).toHaveLength(1)
  })

  test("keeps its first owners, gets those that adopt it, and keeps those that release it", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, running(100), { ownerReferences: owner }), pod("b", 2, running(100)))
    bench.applied(pod("b", 3, running(100), { ownerReferences: owner }), pod("a", 4, running(100)))
    const told = bench.lives().map((life) => `${life.pod} ${Buffer.from(life.ownerReferences ?? []).toString()}`)
    expect(told).toEqual([`1 ${JSON.stringify(owner)}`, "2 ", `2 ${JSON.stringify(owner)}`])
    expect(bench.lives()[2]?.identity?.uid).toBe("uid-b")
  })

  test("continues where it was when the watcher restarts", () => {
    const stored: ReadonlyArray<StoredPod> = [
      { number: 3, uid: "uid-a", namespace: "shop", start: 100, end: undefined, owned: true },
      { number: 4, uid: "uid-b", namespace: "shop", start: 100, end: 110, owned: false },
    ]
    const pods = { nextPodNumber: 9, pods: stored, interrupted: [] }
    const bench = new SinkBench({ pods, recordsEvents: false, resumeVersion: "5" })
    bench.applied(pod("a", 6, running(100), { ownerReferences: owner }), pod("b", 7, ended(100, 110)))
    expect(bench.lives()).toEqual([])
    bench.applied(pod("a", 8, running(120)), pod("b", 9, running(130), { ownerReferences: owner }))
    bench.deleted(pod("a", 10, ended(120, 140)))
    bench.applied(pod("c", 11, running(150)))
    expect(brief(bench.lives())).toEqual(["4 100-", "3 100-140 gone", "9 150-"])
    expect(bench.lives()[0]?.ownerReferences).toBeDefined()
  })
})

describe("invalid objects", () => {
  const broken = (version: number, status: unknown): KubernetesObject => object("a", version, { spec, status })

  test("are counted, reported once per reason, and change nothing (W-36)", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, running(100)))
    bench.applied(broken(2, null), broken(3, null), broken(4, "x"), broken(5, { containerStatuses: [1] }))
    bench.applied(pod("a", 6, {}), pod("a", 7, {}))
    expect(brief(bench.lives())).toEqual(["1 100-"])
    expect(bench.recorder.podStatistics?.undecodable).toBe(4)
    const reasons = bench.said.map((line) => /followed: (.*);/.exec(line)?.[1])
    expect(reasons).toEqual([
      "it has no status",
      "its status is not an object",
      "its container statuses are not a list of objects",
      "a container has no state or several",
    ])
    expect(bench.completeThrough).toBe("7")
  })

  test("end a running pod nevertheless if they are its deletion", () => {
    const bench = new SinkBench({ pods: noPods, recordsEvents: false })
    bench.applied(pod("a", 1, running(100)))
    bench.deleted(broken(2, null))
    expect(bench.lives().at(-1)).toMatchObject({ pod: 1, start: 100, gone: true })
  })

  test("in a list do not affect the others", () => {
    const bench = new SinkBench({ pods: noPods })
    bench.list("first", "9", pod("a", 1, running(100)), object("b", 2), pod("c", 3, running(100)))
    expect(brief(bench.lives())).toEqual(["1 100-", "2 100-"])
    expect(bench.brief()).toEqual(["applied a@1", "applied b@2", "applied c@3"])
  })
})

describe("the pods that are followed", () => {
  test("include those that skipOwned excludes from the events", () => {
    const bench = new SinkBench({ pods: noPods, skipOwned: true })
    bench.applied(pod("a", 1, running(100), { ownerReferences: owner }))
    expect(bench.brief()).toEqual([])
    expect(brief(bench.lives())).toEqual(["1 100-"])
  })
})

describe("lifecycles that were not recorded for a while", () => {
  test("leave a gap of each kind that ended before, once the list is complete", () => {
    const interrupted = [
      { gvk: "v1.ConfigMap", fromVersion: "50", fromTime: 7 },
      { gvk: "lifecycle/v1.Pod", fromVersion: "20", fromTime: 3 },
    ]
    const bench = new SinkBench({ pods: { ...noPods, interrupted }, resumeVersion: "50", completeTime: 7 })
    bench.list("first", "90", pod("a", 60, running(100)))
    const gaps = bench
      .gaps()
      .map(({ gvk, fromVersion, toVersion, fromTime, reason }) => [gvk, fromVersion, toVersion, fromTime, reason])
    expect(gaps).toEqual([
      ["v1.ConfigMap", "50", "90", 7, "stopped"],
      ["lifecycle/v1.Pod", "20", "90", 3, "stopped"],
    ])
    bench.list("expired", "99")
    expect(bench.gaps()).toHaveLength(3)
  })

  test("leave no gap if nothing has happened meanwhile", () => {
    const interrupted = [{ gvk: "v1.ConfigMap", fromVersion: "50", fromTime: 7 }]
    const bench = new SinkBench({ pods: { ...noPods, interrupted }, resumeVersion: "50" })
    bench.list("first", "50", pod("a", 40, running(100)))
    expect(bench.gaps()).toEqual([])
  })
})

test("the end of a pod and its deletion are in one frame, so that neither is stored without the other", () => {
  const labels = { size: "x".repeat(30_000) }
  const bench = new SinkBench({ pods: noPods, slabBytes: 65_536 })
  bench.applied(pod("a", 1, running(100), { labels }), pod("b", 2, running(100), { labels }))
  bench.deleted(pod("a", 3, running(100), { labels }))
  const frames = bench.payloads().map((payload) => decodeObservations(payload))
  expect(frames.map(({ count, podLifeCount }) => [count, podLifeCount])).toEqual([
    [2, 2],
    [1, 1],
  ])
})

test("a frame states the completeness of lifecycles only if they are followed", () => {
  for (const pods of [undefined, noPods]) {
    const bench = new SinkBench(pods === undefined ? {} : { pods })
    bench.applied(pod("a", 1, running(100)))
    expect(bench.payloads().map((payload) => decodeObservations(payload).tracksPods)).toEqual([pods !== undefined])
  }
})

/** The events of a watch, in order. */
const anyHistory = fc
  .array(
    fc.record({
      name: fc.constantFrom("a", "b", "c"),
      what: fc.constantFrom("waiting", "running", "ended", "deleted", "broken"),
      seconds: fc.integer({ min: 0, max: 50 }),
      lasts: fc.integer({ min: -5, max: 20 }),
      owned: fc.boolean(),
      bytes: fc.constantFrom(0, 0, 3000, 30_000),
    }),
    { maxLength: 30 },
  )
  .map((steps) => {
    const lives = new Map<string, number>()
    return steps.map(({ name, what, seconds, lasts, owned, bytes }, index) => {
      const uid = `${name}-${lives.get(name) ?? 0}`
      if (what === "deleted") lives.set(name, (lives.get(name) ?? 0) + 1)
      const state = what === "running" ? running(seconds) : what === "ended" ? ended(seconds, seconds + lasts) : waiting
      const metadata = { uid, ...(owned && { ownerReferences: owner }), labels: { size: "x".repeat(bytes) } }
      const whole = pod(name, index + 1, state, metadata)
      return {
        version: index + 1,
        isDeleted: what === "deleted",
        object: what === "broken" ? { ...whole, status: 3 } : whole,
      }
    })
  })

type History = typeof anyHistory extends fc.Arbitrary<infer Value> ? Value : never

const feed = (bench: SinkBench, history: History): void => {
  for (const step of history) {
    if (step.isDeleted) bench.deleted(step.object)
    else bench.applied(step.object)
  }
}

/** What the store would return: per UID the last record, in the order of numbers. */
const settled = (lives: ReadonlyArray<PodLife>) => {
  const pods = new Map<number, { uid: string; start: number; end: number | undefined; gone: boolean; owned: boolean }>()
  for (const { pod: number, start, end, gone, identity, ownerReferences } of lives) {
    const before = pods.get(number)
    const uid = before?.uid ?? identity?.uid ?? "nobody"
    pods.set(number, { uid, start, end, gone, owned: ownerReferences !== undefined || before?.owned === true })
  }
  return pods
}

test("for any events: ends are never before starts, a UID is removed once, its last state is final", () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const bench = new SinkBench({ pods: noPods, recordsEvents: false })
      feed(bench, history)
      const gone = new Set<number>()
      for (const { pod: number, start, end, gone: isGone } of bench.lives()) {
        if (end !== undefined) expect(end).toBeGreaterThanOrEqual(start)
        expect(gone.has(number)).toBe(false)
        if (isGone) gone.add(number)
      }
      const pods = [...settled(bench.lives()).values()]
      expect(new Set(pods.map(({ uid }) => uid)).size).toBe(pods.length)
      for (const { uid, start, end, gone: isGone } of pods) {
        const told = history
          .filter(({ object: { metadata, status } }) => metadata.uid === uid && status !== 3)
          .map(
            ({ object: { status } }) =>
              (status as { containerStatuses: [{ state: Record<string, unknown> }] }).containerStatuses[0].state,
          )
          .filter((state) => state.waiting === undefined)
        const seconds = (time: unknown): number => Date.parse(String(time)) / 1000
        const [first, last] = [told[0] ?? {}, told.at(-1)]
        expect(start).toBe(seconds(startedAt(first)))
        const finishedAt = (last?.terminated as { finishedAt: string } | undefined)?.finishedAt
        if (finishedAt !== undefined) expect(end).toBe(Math.max(start, seconds(finishedAt)))
        else expect(end === undefined).toBe(!isGone)
        expect(isGone).toBe(history.some(({ isDeleted, object: { metadata } }) => isDeleted && metadata.uid === uid))
      }
    }),
  )
})

test("after a crash at any frame the watcher resumes, and lifecycles and events are as if nothing had happened", () => {
  fc.assert(
    fc.property(anyHistory, fc.nat(), fc.boolean(), (history, crash, recordsEvents) => {
      // Frames of 64 KiB fit two of the largest objects, so lifecycles and events are separated wherever they can be.
      const whole = new SinkBench({ pods: noPods, recordsEvents, slabBytes: 65_536 })
      feed(whole, history)
      const before = whole.payloads().slice(0, whole.sent === 0 ? 0 : crash % whole.sent)
      const frames = before.map((payload) => decodeObservations(payload))
      const lives = frames.flatMap((frame) =>
        Array.from({ length: frame.podLifeCount }, (_, index) => frame.podLife(index)),
      )
      const resumeVersion = frames.findLast(({ completeThrough }) => completeThrough !== "")?.completeThrough ?? "0"
      const known = settled(lives)
      const pods = [...known].flatMap(([number, { uid, start, end, gone, owned }]) =>
        gone ? [] : [{ number, uid, namespace: "shop", start, end, owned }],
      )
      const after = new SinkBench({
        pods: { nextPodNumber: Math.max(0, ...known.keys()) + 1, pods, interrupted: [] },
        recordsEvents,
        resumeVersion,
        objects: storedObjects(before),
        slabBytes: 65_536,
      })
      feed(
        after,
        history.filter(({ version }) => version > Number(resumeVersion)),
      )
      expect([...settled([...lives, ...after.lives()])]).toEqual([...settled(whole.lives())])
      expect([...eventsOf(before), ...eventsOf(after.payloads())]).toEqual(eventsOf(whole.payloads()))
    }),
    { numRuns: rounds(300) },
  )
})

const startedAt = (state: Record<string, unknown>): string =>
  ((state.running ?? state.terminated) as { startedAt: string }).startedAt

const storedObjects = (payloads: ReadonlyArray<Uint8Array>) => storedAfter(payloads, [])

/** `action version` of each event. */
const eventsOf = (payloads: ReadonlyArray<Uint8Array>): ReadonlyArray<string> =>
  payloads.flatMap((payload) => {
    const frame = decodeObservations(payload)
    return Array.from(
      { length: frame.count },
      (_, index) => `${frame.action(index)} ${frame.resourceVersionText(index)}`,
    )
  })
