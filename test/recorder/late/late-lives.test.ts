/** Pod lifecycles that were received late: every trace that has lifecycles says so, whichever stream they came from. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Coverage } from "../../../src/recorder/export/coverage.ts"
import type { ExportForecast } from "../../../src/recorder/export/forecast.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"

const deployment = {
  metadata: { namespace: "shop", name: "web" },
  spec: { template: { spec: { containers: [{ name: "web", image: "web:1" }] } } },
}

/** A pod of the Deployment whose container runs. */
const pod = (uid: string, name: string) => ({
  metadata: {
    ...{ namespace: "shop", name },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true }],
  },
  spec: { containers: [{ name: "web", image: "web:1" }] },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "web", state: { running: { startedAt: "2026-11-25T10:00:00Z" } } }],
  },
})

describe.each([
  ["of their own", "lifecycle/v1.Pod", { "apps/v1.Deployment": "{trackLifecycle: true}" }],
  ["of recorded Pods", "v1.Pod", { "apps/v1.Deployment": "{trackLifecycle: true}", "v1.Pod": "{detect: all}" }],
] as const)("lifecycles from a stream %s", (_name, stream, kinds) => {
  let place: Workplace
  let sandbox: Sandbox
  let recorder: RecorderProcess

  beforeAll(async () => {
    place = new Workplace()
    sandbox = await Sandbox.start()
    const { uid } = sandbox.put("apps/v1.Deployment", deployment).metadata
    const first = place.record({ cluster: { server: sandbox.url }, kinds })
    await first.ready()
    sandbox.put("v1.Pod", pod(uid, "early"))
    await first.until(async () => (await lives(first)) === 1, "the first life")
    // An export commits what was received before.
    await first.exported()
    await first.kill()
    sandbox.put("v1.Pod", pod(uid, "late"))
    recorder = place.record({ cluster: { server: sandbox.url }, kinds })
    await recorder.ready()
    await recorder.until(async () => (await lateRanges()).length > 0, "the late life")
  })
  afterAll(async () => {
    await place.close()
    await sandbox.close()
  })

  const lives = async (of: RecorderProcess): Promise<number> =>
    (await of.metric(`kubereel_pod_lives_total{kind="${stream}"}`)) ?? 0

  const lateRanges = async () => {
    const { kinds: covered } = JSON.parse((await recorder.get("/v1/coverage?start=0")).text) as Coverage
    return covered.find(({ gvk }) => gvk === stream)?.late ?? []
  }

  /** Of the Deployments alone. */
  const post = async (format: "ndjson" | "simkube", more: object = {}) => {
    const filters = { excluded_namespaces: [], excluded_labels: [], kinds: ["apps/v1.Deployment"] }
    const answer = await recorder.post({
      ...everything(format),
      end_ts: Math.ceil(Date.now() / 1000),
      filters,
      ...more,
    })
    return { status: answer.status, late: answer.headers.get("kubereel-late"), text: await answer.text() }
  }

  test("are named in the header of a trace that has them, although their kind is not requested", async () => {
    const { status, late } = await post("simkube")
    expect(status).toBe(200)
    expect(late).toMatch(new RegExp(`^${stream}=1; happened=.*; cause=stopped$`))
    expect((await post("ndjson")).late).toBeNull()
  })

  test("are refused by require=all, in a dry run as well", async () => {
    const { status, text } = await post("simkube", { require: "all" })
    expect(status).toBe(409)
    expect(text).toMatch(new RegExp(`^1 change of ${stream} between .* was received later than it happened`))
    const dry = JSON.parse((await post("simkube", { require: "all", dry_run: true })).text) as ExportForecast
    expect(dry.refusals).toEqual([text.trimEnd()])
    expect(dry.kinds.find(({ gvk }) => gvk === stream)).toMatchObject({ objects: 0, events: 0, late: [{ events: 1 }] })
    expect((await post("ndjson", { require: "all" })).status).toBe(200)
  })

  test("are in the coverage", async () => {
    expect(await lateRanges()).toMatchObject([{ events: 1, cause: "stopped" }])
  })

  test("are reported by reel export", async () => {
    const words = ["export", "-s", await recorder.listening(), "-o", place.path("trace.sktrace"), "--start", "0"]
    const exported = place.reel(...words, "--kind", "apps/v1.Deployment")
    expect((await exported.ended).code).toBe(0)
    expect(exported.log).toMatch(new RegExp(`${stream}: 1 change between .* because the recorder was not running`))
  })
})
