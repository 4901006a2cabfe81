/** What explains an object, in the words that the page and `reel why` share. */
import { expect, test } from "vitest"
import { WhyLines } from "../../src/cli/past/why-lines.ts"
import { tones } from "../../src/timeline/index.ts"
import { type JsonObject, parseExactJson } from "../../src/trace/index.ts"
import { factsOf } from "../../src/ui/object/why.ts"
import type { ObjectChange } from "../../src/ui/source/source.ts"

const second = 1_000_000
const pod = { gvk: "v1.Pod", namespace: "shop", name: "web-0", uid: "p" }

const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] }
const started = { name: "main", restartCount: 0, state: { running: { startedAt: "2026-11-21T10:00:00Z" } } }
const ended = { exitCode: 1, reason: "Error", message: "no such file", finishedAt: "2026-11-21T10:00:09Z" }
const crashed = {
  ...{ name: "main", restartCount: 1, lastState: { terminated: ended } },
  state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
}

const change = (time: number, more: Partial<ObjectChange>): ObjectChange => ({
  ...{ type: "changed", object: pod, resourceVersion: String(time), time: time * second, sequence: time },
  ...{ managers: [], differences: [], hasMoreDifferences: false, ...more },
})

const life: ReadonlyArray<ObjectChange> = [
  change(1, {
    ...{ object: { ...pod, gvk: "apps/v1.StatefulSet", name: "web", uid: "s" } },
    differences: [{ path: "spec.replicas", before: 1, after: 2 }],
  }),
  change(2, { type: "appeared", state: { metadata: { creationTimestamp: "2026-11-21T09:00:00Z" } } }),
  change(3, { state: { spec: { nodeName: "node-1" }, status: { ...running, containerStatuses: [started] } } }),
  change(4, { state: { status: { phase: "Running", containerStatuses: [crashed] } } }),
  change(5, {
    object: { ...pod, gvk: "v1.Event", name: "web-0.1", uid: "e" },
    event: { type: "Warning", reason: "BackOff", message: "restarting", about: "Pod web-0", source: "kubelet" },
  }),
  change(6, {
    state: {
      status: { ...running, containerStatuses: [{ ...started, restartCount: 2, lastState: { terminated: ended } }] },
    },
  }),
  change(7, {
    state: { metadata: { deletionTimestamp: "2026-11-21T10:01:00Z", deletionGracePeriodSeconds: 30 }, status: running },
  }),
  change(8, { type: "deleted", state: { status: running } }),
]

/** As the HTTP interface gives it. */
const answered = ({ object, state, ...rest }: ObjectChange): JsonObject =>
  parseExactJson(JSON.stringify({ ...object, ...rest, object: state })) as JsonObject

test("a life from its beginning to its end", () => {
  expect(factsOf(pod, life).map(({ time, text }) => `${time / second} ${text}`)).toEqual([
    "1 is changed",
    "2 is first seen; created 2026-11-21T09:00:00Z",
    "3 is scheduled to node node-1",
    "3 phase Running",
    "3 condition Ready is True",
    "3 container main runs",
    "4 container main ended with exit code 1: Error: no such file",
    "4 container main waits: CrashLoopBackOff: back-off 10s",
    "5 Warning BackOff of Pod web-0: restarting (kubelet)",
    "6 container main runs, after 2 restarts",
    "7 is being deleted, with 30 s of grace",
    "8 is deleted",
  ])
})

test("the page says what `reel why` says, in the same order", () => {
  const lines = new WhyLines("v1.Pod", (micros) => `${micros / second}`)
  const told = life.flatMap((each) => lines.of(answered(each)))
  const facts = factsOf(pod, life)
  // Fields of a change are lines of their own.
  const [first, , ...others] = told
  expect(facts).toHaveLength(others.length + 1)
  for (const [index, { text }] of facts.entries()) expect([first, ...others][index]).toContain(text)
})

test("what went wrong is told from what is as it should be", () => {
  const bad = factsOf(pod, life).filter(({ tone }) => tone === tones.bad)
  expect(bad.map(({ time }) => time / second)).toEqual([4, 4, 5])
})
