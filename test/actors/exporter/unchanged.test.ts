import { beforeEach, describe, expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { SimkubeTraceReader } from "../../../src/trace/index.ts"
import { exportOf, recordingOf } from "./owned-recording.ts"

const job = "batch/v1.Job"
const deployment = "apps/v1.Deployment"

/** A Job as its server stores it, in several states. */
const jobState = (active: number, parallelism: number) => ({
  gvk: job,
  name: "once",
  owners: [],
  metadata: {
    resourceVersion: String(10 * active + parallelism),
    labels: { app: "once", "job-name": "once", "controller-uid": "uid-once" },
  },
  rest: {
    spec: {
      parallelism,
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "uid-once" } },
      template: { metadata: { labels: { "batch.kubernetes.io/controller-uid": "uid-once" } }, spec: {} },
    },
    status: { active },
  },
})
const web = (replicas: number, ready: number) => ({
  gvk: deployment,
  name: "web",
  owners: [],
  metadata: { resourceVersion: String(ready) },
  rest: { spec: { replicas }, status: { ready } },
})

let directory = ""

beforeEach(() => {
  directory = recordingOf([
    ...[jobState(0, 1), web(1, 0), jobState(1, 1), web(1, 1), web(2, 1)],
    ...[jobState(0, 2), web(2, 2), web(1, 2), jobState(1, 1)],
  ])
})

const exported = (more: Pick<ExportJob, "format"> & Partial<ExportJob>): Promise<Buffer> =>
  exportOf(directory, [job, deployment], more)

describe("of changes that change nothing for a replay, an export", () => {
  test("in SimKube's format contains none", async () => {
    const reader = new SimkubeTraceReader()
    const items = [...reader.push(await exported({ format: "simkube" })), ...reader.end()]
    const specs = items.flatMap((item) => (item.type === "applied" ? [item.object.spec] : []))
    expect(specs).toEqual([
      { parallelism: 1, template: { spec: {} } },
      { replicas: 1 },
      { replicas: 2 },
      { parallelism: 2, template: { spec: {} } },
      { replicas: 1 },
      { parallelism: 1, template: { spec: {} } },
    ])
  })

  const linesOf = async (more: Partial<ExportJob>) =>
    String(await exported({ format: "ndjson", ...more }))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))

  test("as NDJSON for replay contains none, and its last line counts them", async () => {
    const lines = await linesOf({ sanitise: "replay" })
    expect(lines.at(-1)).toEqual({ end: { snapshot: 0, events: 6, gaps: 0, unchanged: 3 } })
    expect(lines[1].object).toEqual({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once", namespace: "shop", labels: { app: "once" } },
      spec: { parallelism: 1, template: { spec: {} } },
    })
  })

  test("as plain NDJSON contains all", async () => {
    expect((await linesOf({})).at(-1)).toEqual({ end: { snapshot: 0, events: 9, gaps: 0 } })
  })

  test("in kwok's format contains none", async () => {
    const text = String(await exported({ format: "kwok" }))
    expect(text.match(/method: (create|patch)/g)).toHaveLength(6)
    expect(text).not.toContain("controller-uid")
  })
})
