/** The lifecycles that `reel convert` computes from a recorder's NDJSON equal those that the recorder followed itself. */
import { afterAll, beforeAll, expect, test } from "vitest"
import type { StoredObject } from "../../../src/apiserver/index.ts"
import { converted } from "../../trace/formats/traces.ts"
import { everything } from "../recorder/recorder-command.ts"
import { type Container, OwnerRecorder, ownedBy, podThat, readTrace } from "./owner-recorder.ts"

const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"

let recorder: OwnerRecorder
beforeAll(async () => {
  recorder = await OwnerRecorder.start({
    [deployment]: "{trackLifecycle: true}",
    [replicaSet]: "{}",
    [pod]: "{trackLifecycle: true}",
  })
})
afterAll(() => recorder.close())

const put = (gvk: string, name: string, owner?: StoredObject, more: object = {}): StoredObject =>
  recorder.sandbox.put(gvk, {
    spec: { template: {} },
    ...more,
    metadata: { namespace: "shop", name, ...(owner !== undefined && ownedBy(owner)) },
  })

test("for any fate of the pods and any start of the window", async () => {
  const { sandbox } = recorder
  const now = Math.floor(Date.now() / 1000)
  const putPod = (name: string, owner: StoredObject | undefined, life?: Container): StoredObject =>
    put(pod, name, owner, podThat(life))
  const between = put(replicaSet, "web-1", put(deployment, "web"))
  putPod("running", between, { start: now - 50 })
  putPod("ended", between, { start: now - 50, end: now - 40 })
  putPod("waiting", between)
  putPod("deleted", between, { start: now - 30 })
  putPod("again", between, { start: now - 20, end: now - 19 })
  putPod("bare", undefined, { start: now - 10 })
  putPod("used-twice", between, { start: now - 9 })
  const start_time = await recorder.boundary()
  // Not earlier: times are whole seconds, and a pod that ended in the second of the window's start counts as in it when followed.
  sandbox.delete(pod, "shop", "used-twice")
  putPod("used-twice", between, { start: now - 5 })
  sandbox.delete(pod, "shop", "deleted")
  putPod("again", between, { start: now - 3 })
  putPod("again", between, { start: now - 3, end: now + 100 })
  putPod("bare", undefined, { start: now - 10, end: now + 50 })
  putPod("later", between, { start: now + 1 })
  await recorder.recorded()
  const url = `http://127.0.0.1:${recorder.running.port}/export`
  for (const window of [{ start_time: 0 }, { start_time }]) {
    const { filters, ...request } = everything("ndjson")
    const given = { ...filters, excluded_owned: false }
    const followed = (await recorder.trace({ ...window, filters: { excluded_owned: false } })).lifecycles
    const body = JSON.stringify({ ...request, ...window, filters: given })
    const ndjson = Buffer.from(await (await fetch(url, { method: "POST", body })).arrayBuffer())
    const computed = readTrace((await converted(ndjson, "ndjson", "simkube")).bytes).lifecycles
    expect(computed).toEqual(followed)
    expect(followed.length).toBeGreaterThan(5)
  }
})
