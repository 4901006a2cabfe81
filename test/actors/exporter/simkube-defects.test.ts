/** Defects of SimKube 2.7 in the window of an export that ours must not have, each by its number (docs/reference/testing.md). */
import { expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { openDecoder, type TraceFormatName } from "../../../src/trace/index.ts"
import { encodeFrame, nameOf, type SampleEvent, START } from "../../archive/sample-frames.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { exportOf } from "./owned-recording.ts"

const deployment = "apps/v1.Deployment"
const statefulSet = "apps/v1.StatefulSet"

/** An event of one kind, as its own watcher sends it. */
interface Sent {
  readonly gvk: string
  readonly number: number
  /** µs since the samples begin. */
  readonly time: number
  readonly action?: SampleEvent["action"]
  readonly metadata?: object
}

/** A recording of these events, in the order in which the store received them. */
const recordingOf = (sent: ReadonlyArray<Sent>): string => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  const known = new Set<string>()
  for (const [index, { gvk, number, time, action = "applied", metadata = {} }] of sent.entries()) {
    const { uid, namespace, name } = nameOf(gvk, number)
    const object = JSON.stringify({
      metadata: { name, ...(namespace !== "" && { namespace }), uid, ...metadata },
      spec: { template: {} },
    })
    const newObjects = known.has(uid) ? [] : [number]
    known.add(uid)
    const event = {
      action,
      number,
      time: START + time,
      version: index + 1,
      object: action === "vanished" ? "" : object,
    }
    writer.append(`watcher/${gvk}`, 1, index + 1, encodeFrame({ gvk, events: [event], newObjects }))
    writer.commit()
  }
  writer.close()
  return directory
}

const exported = (
  directory: string,
  { kinds, ...given }: Partial<ExportJob> & { readonly kinds: ReadonlyArray<string> },
): Promise<Buffer> => exportOf(directory, kinds, { format: "ndjson", untilTime: START + 1_000_000, ...given })

/** `snapshot apps/v1.Deployment object-1`, `deleted …`, in their order. */
const changesIn = async (trace: Uint8Array, format: TraceFormatName = "ndjson"): Promise<ReadonlyArray<string>> => {
  const decoder = await openDecoder(format)
  return [...decoder.push(trace), ...decoder.end()].flatMap((item) => {
    if (item.type !== "event" || item.event.type !== "object") return []
    const { gvk, name, action } = item.event
    return [`${item.isSnapshot ? "snapshot" : action} ${gvk} ${name}`]
  })
}

test.each(["ndjson", "simkube", "kwok"] as const)(
  "W-07: objects of one name and several kinds are all in the start of a %s trace, and the end of one is not that of another",
  async (format) => {
    const kinds = [deployment, statefulSet]
    const directory = recordingOf([
      { gvk: deployment, number: 1, time: 10 },
      { gvk: statefulSet, number: 1, time: 20 },
      { gvk: statefulSet, number: 1, time: 500, action: "deleted" },
    ])
    expect(nameOf(deployment, 1)).toMatchObject({ name: nameOf(statefulSet, 1).name, namespace: "ns-1" })
    expect(await changesIn(await exported(directory, { kinds, format, fromTime: START + 100 }), format)).toEqual([
      `snapshot ${deployment} object-1`,
      `snapshot ${statefulSet} object-1`,
      `deleted ${statefulSet} object-1`,
    ])
    expect(await changesIn(await exported(directory, { kinds, format, fromTime: START + 600 }), format)).toEqual([
      `snapshot ${deployment} object-1`,
    ])
  },
)

test.each(["ndjson", "simkube", "kwok"] as const)(
  "W-12: an object without a namespace that was deleted is not in the start of a %s trace, and one made again is",
  async (format) => {
    const directory = recordingOf([
      { gvk: deployment, number: 3, time: 10 },
      { gvk: deployment, number: 3, time: 200, action: "deleted" },
      { gvk: deployment, number: 3, time: 400 },
    ])
    expect(nameOf(deployment, 3).namespace).toBe("")
    const kinds = [deployment]
    const during = { kinds, format, fromTime: START + 100 }
    expect(await changesIn(await exported(directory, during), format)).toEqual([
      `snapshot ${deployment} object-3`,
      `deleted ${deployment} object-3`,
      `applied ${deployment} object-3`,
    ])
    const gone = { kinds, format, fromTime: START + 300, untilTime: START + 400 }
    expect(await changesIn(await exported(directory, gone), format)).toEqual([])
  },
)

test("W-17: an event that the store received after later ones of other kinds is in its place, and does not end a window early", async () => {
  const kinds = [deployment, statefulSet]
  const directory = recordingOf([
    { gvk: deployment, number: 1, time: 10 },
    { gvk: deployment, number: 1, time: 900 },
    { gvk: statefulSet, number: 2, time: 20 },
    { gvk: statefulSet, number: 2, time: 30 },
  ])
  expect(await changesIn(await exported(directory, { kinds }))).toEqual([
    `applied ${deployment} object-1`,
    `applied ${statefulSet} object-2`,
    `applied ${statefulSet} object-2`,
    `applied ${deployment} object-1`,
  ])
  // SimKube stops at the first event beyond the window.
  expect(await changesIn(await exported(directory, { kinds, untilTime: START + 900 }))).toEqual([
    `applied ${deployment} object-1`,
    `applied ${statefulSet} object-2`,
    `applied ${statefulSet} object-2`,
  ])
})

test.each(["simkube", "kwok"] as const)(
  "W-23: a %s trace has neither finalizers, nor the UIDs of owners, nor owners outside of it",
  async (format) => {
    const owner = (kind: string, number: number) => ({
      apiVersion: "apps/v1",
      kind,
      name: `object-${number}`,
      uid: `apps/v1.${kind}/${number}`,
      controller: true,
      blockOwnerDeletion: true,
    })
    const metadata = {
      finalizers: ["example.com/never-removed"],
      ownerReferences: [owner("StatefulSet", 1), owner("DaemonSet", 1)],
    }
    const directory = recordingOf([
      { gvk: statefulSet, number: 1, time: 10 },
      { gvk: deployment, number: 1, time: 20, metadata },
    ])
    const kinds = [deployment, statefulSet]
    const whole = (await exported(directory, { kinds })).toString()
    expect(whole).toContain("example.com/never-removed")
    const trace = (await exported(directory, { kinds, format })).toString("latin1")
    for (const removed of ["finalizers", "never-removed", "DaemonSet", "StatefulSet/1"]) {
      expect([removed, trace.includes(removed)]).toEqual([removed, false])
    }
  },
)

test.each(["ndjson", "simkube", "kwok"] as const)(
  "W-24: the start of a %s trace stands in the order in which it can be made, and the same request gives the same bytes",
  async (format) => {
    const kinds = ["v1.Pod", deployment, "v1.ServiceAccount", "v1.Namespace", statefulSet]
    const events = kinds.flatMap((gvk, index) => [
      { gvk, number: 2, time: 10 * index },
      { gvk, number: 1, time: 10 * index + 5 },
    ])
    const order = ["v1.Namespace", "v1.ServiceAccount", deployment, statefulSet, "v1.Pod"]
    for (const received of [events, events.toReversed().map((event, time) => ({ ...event, time }))]) {
      const directory = recordingOf(received)
      const job = { kinds, format, fromTime: START + 500 }
      const trace = await exported(directory, job)
      expect(trace.equals(await exported(directory, job))).toBe(true)
      const made = (await changesIn(trace, format)).map((line) => line.split(" ")[1])
      expect([...new Set(made)]).toEqual(
        format === "simkube" ? order.filter((gvk) => !/Namespace|Account/.test(gvk)) : order,
      )
    }
  },
)
