/** Observed behaviour of Kubernetes 1.34.4 when objects are deleted and pods are bound. */

import { expect, test } from "vitest"
import type { Sandbox } from "../../../src/library/sandbox.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { open } from "../opened-sandbox.ts"
import { bodyOf, configMaps, mergePatch, pod, pods, send, sendFor } from "./write-client.ts"

const start = (): Promise<Sandbox> => open({ clock: new ManualClock(), bookmarkInterval: 0 })

const events = (sandbox: Sandbox, gvk: string) =>
  sandbox.ledger
    .of(gvk)
    .map(({ action, object }) => [action, (object?.metadata ?? {}) as Readonly<Record<string, unknown>>] as const)

const job = {
  metadata: { name: "j" },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } } },
}
const jobs = "/apis/batch/v1/namespaces/default/jobs"

test("the write that removes the last finalizer returns the previous version; watchers see the previous state", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "f", finalizers: ["a.io/x"] } })
  const marked = await sendFor(sandbox, 200, "DELETE", `${configMaps}/f`)
  const path = `${configMaps}/f`
  const answer = await sendFor(sandbox, 200, "PATCH", path, { metadata: { finalizers: null } }, mergePatch)
  expect(answer.metadata.finalizers).toBeUndefined()
  expect(answer.metadata.resourceVersion).toBe(marked.metadata.resourceVersion)
  const last = events(sandbox, "v1.ConfigMap").at(-1)
  expect(last).toEqual(["deleted", expect.objectContaining({ finalizers: ["a.io/x"] })])
  expect(Number(last?.[1].resourceVersion)).toBeGreaterThan(Number(marked.metadata.resourceVersion))
})

test("a pod without anything to wait for is marked first and then deleted", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", pods, pod("p"))
  await sendFor(sandbox, 200, "DELETE", `${pods}/p`)
  const [, marked, gone] = events(sandbox, "v1.Pod")
  expect([marked?.[0], gone?.[0]]).toEqual(["applied", "deleted"])
  expect(marked?.[1]).toMatchObject({ deletionGracePeriodSeconds: 0, generation: 2 })
  expect(gone?.[1]).toEqual({ ...marked?.[1], resourceVersion: gone?.[1].resourceVersion })
})

test("a second deletion without a grace period keeps the current one", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", pods, { ...pod("p"), spec: { ...pod("p").spec, nodeName: "nowhere" } })
  await sendFor(sandbox, 200, "DELETE", `${pods}/p?gracePeriodSeconds=300`)
  const again = await sendFor(sandbox, 200, "DELETE", `${pods}/p`)
  expect(again.metadata.deletionGracePeriodSeconds).toBe(300)
})

test("a Job deleted without a policy causes a warning and orphans its pods", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", jobs, job)
  const answer = await send(sandbox, "DELETE", `${jobs}/j`)
  expect(answer.warnings).toEqual([
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set " +
      "propagationPolicy=Orphan to suppress this warning",
  ])
  expect([bodyOf(answer).kind, bodyOf(answer).metadata.finalizers]).toEqual(["Job", ["orphan"]])
  const other = { ...job, metadata: { name: "k" } }
  await sendFor(sandbox, 201, "POST", jobs, other)
  const background = await send(sandbox, "DELETE", `${jobs}/k?propagationPolicy=Background`)
  expect([background.warnings, bodyOf(background).kind]).toEqual([[], "Status"])
})

test("DeleteOptions may be those of any group; bodies of other types are refused", async () => {
  const sandbox = await start()
  const options = { apiVersion: "policy/v1", kind: "DeleteOptions" }
  const gone = await send(sandbox, "DELETE", `${configMaps}/a`, options)
  expect([gone.status, bodyOf(gone).message]).toEqual([404, 'configmaps "a" not found'])
  const unknown = await send(sandbox, "DELETE", `${configMaps}/a`, { ...options, apiVersion: "nope/v1" })
  expect(unknown.status).toBe(500)
  const refused = await send(sandbox, "DELETE", `${configMaps}/a`, options, { type: "text/plain" })
  expect([refused.status, bodyOf(refused).message]).toEqual([
    415,
    "the body of the request was in an unknown format - accepted media types include: application/json, " +
      "application/yaml, application/vnd.kubernetes.protobuf",
  ])
})

const bindings: ReadonlyArray<readonly [string, string, object, number, string]> = [
  [
    "another kind of target",
    "p",
    { target: { kind: "Pod", name: "x" } },
    500,
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  ],
  [
    "another name",
    "p",
    { metadata: { name: "q" }, target: { name: "x" } },
    400,
    "name in URL does not match name in Binding object",
  ],
  [
    "another version",
    "p",
    { metadata: { name: "p", resourceVersion: "1" }, target: { name: "x" } },
    409,
    "ResourceVersion in precondition: 1, ResourceVersion in object meta: ",
  ],
  [
    "another UID",
    "p",
    { metadata: { name: "p", uid: "1" }, target: { name: "x" } },
    409,
    'Operation cannot be fulfilled on pods "p": Precondition failed: UID in precondition: 1, UID in object meta: ',
  ],
  [
    "a gated pod",
    "g",
    { target: { name: "x" } },
    409,
    'Operation cannot be fulfilled on pods/binding "g": pod g has non-empty .spec.schedulingGates',
  ],
]
test.each(bindings)("a Binding with %s is refused", async (_case, name, binding, status, message) => {
  const sandbox = await start()
  const gated = { ...pod("g"), spec: { ...pod("g").spec, schedulingGates: [{ name: "a.io/b" }] } }
  for (const each of [pod("p"), gated]) await sendFor(sandbox, 201, "POST", pods, each)
  const answer = await send(sandbox, "POST", `${pods}/${name}/binding`, { metadata: { name }, ...binding })
  expect([answer.status, bodyOf(answer).message]).toEqual([status, expect.stringContaining(message)])
})

test("an eviction as a dry run leaves the pod", async () => {
  const sandbox = await start()
  await sendFor(sandbox, 201, "POST", pods, pod("p"))
  const eviction = { metadata: { name: "p" }, deleteOptions: { dryRun: ["All"] } }
  await sendFor(sandbox, 201, "POST", `${pods}/p/eviction`, eviction)
  await sendFor(sandbox, 200, "GET", `${pods}/p`)
})

test("a Binding's annotations go to the pod, and the binder owns nothing of it", async () => {
  const sandbox = await start()
  const before = await sendFor(sandbox, 201, "POST", pods, pod("p"))
  const bindings = "/api/v1/namespaces/default/bindings"
  const metadata = { name: "p", annotations: { note: "x" }, labels: { l: "m" } }
  await sendFor(sandbox, 201, "POST", bindings, { metadata, target: { kind: "Node", name: "n" } })
  const after = await sendFor(sandbox, 200, "GET", `${pods}/p`)
  expect(after.spec.nodeName).toBe("n")
  expect(after.metadata).toMatchObject({ annotations: { note: "x" }, managedFields: before.metadata.managedFields })
  expect(after.metadata.labels).toBeUndefined()
  const missing = await send(sandbox, "POST", bindings, { metadata: { name: "nope" }, target: { name: "n" } })
  expect([missing.status, bodyOf(missing).message]).toEqual([404, 'pods "nope" not found'])
})
