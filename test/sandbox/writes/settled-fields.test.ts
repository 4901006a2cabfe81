/** Fields that a client may not, or need not, set; compared with responses of Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { openForFile } from "../opened-sandbox.ts"
import { configMaps, mergePatch, pods, send, sendFor } from "./write-client.ts"

const sandbox = await openForFile({ ledger: "none" })

const jobs = "/apis/batch/v1/namespaces/default/jobs"
const job = { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } } } }
const causesOf = (body: { details: Readonly<Record<string, unknown>> }): ReadonlyArray<{ field: string }> =>
  body.details.causes as ReadonlyArray<{ field: string }>

describe("metadata", () => {
  test("a kind without generations keeps the client's, and no kind keeps a selfLink", async () => {
    const made = await sendFor(sandbox, 201, "POST", configMaps, {
      metadata: { name: "own", generation: 7, selfLink: "/x", labels: {} },
      data: null,
    })
    expect(made.metadata.generation).toBe(7)
    expect(made).not.toHaveProperty("data")
    expect(made.metadata).not.toHaveProperty("managedFields")
    const put = await sendFor(sandbox, 200, "PUT", `${configMaps}/own`, { metadata: { name: "own", selfLink: "/x" } })
    expect(put.metadata).not.toHaveProperty("selfLink")
  })

  test("a namespace of a cluster-scoped object is ignored", async () => {
    const made = await sendFor(sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name: "n", namespace: "m" } })
    expect(made.metadata).not.toHaveProperty("namespace")
  })

  test.each([
    ["configmaps", configMaps, {}],
    ["events", "/api/v1/namespaces/default/events", { involvedObject: { namespace: "default" } }],
    ["roles", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {}],
    ["leases", "/apis/coordination.k8s.io/v1/namespaces/default/leases", {}],
  ])("a bad label of %s is named once", async (_kind, path, object) => {
    await sendFor(sandbox, 201, "POST", path, { metadata: { name: "labelled" }, ...object })
    const patch = { metadata: { labels: { "bad key!": "x" } } }
    const refused = await sendFor(sandbox, 422, "PATCH", `${path}/labelled`, patch, mergePatch)
    expect(causesOf(refused)).toHaveLength(1)
  })

  test("a field manager must be printable", async () => {
    const refused = await sendFor(sandbox, 422, "POST", `${configMaps}?fieldManager=a%0Ab`, {})
    expect(causesOf(refused)).toMatchObject([{ reason: "FieldValueInvalid", field: "fieldManager" }])
  })
})

describe("a status", () => {
  test.each([
    [
      { succeeded: -1 },
      ["must be greater than or equal to 0", "cannot decrease the succeeded counter"].map(
        (problem) => `status.succeeded: Invalid value: -1: ${problem}`,
      ),
    ],
    [{ ready: 2, active: 1 }, ["status.ready: Invalid value: 2: cannot set more ready pods than active"]],
    [
      { completionTime: "2020-01-01T00:00:00Z" },
      [
        'status.completionTime: Invalid value: "2020-01-01T00:00:00Z": cannot set completionTime when there is no Complete=True condition',
      ],
    ],
  ])("of a Job must be possible: %j", async (status, problems) => {
    await send(sandbox, "POST", jobs, { metadata: { name: "j" }, ...job })
    const refused = await sendFor(sandbox, 422, "PATCH", `${jobs}/j/status`, { status }, mergePatch)
    const text = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`
    expect(refused.message).toBe(`Job.batch "j" is invalid: ${text}`)
  })

  test("of a Job shows null times, and its write leaves no Job without labels", async () => {
    const { metadata } = await sendFor(sandbox, 201, "POST", jobs, { metadata: { name: "k" }, ...job })
    const status = { conditions: [{ type: "Suspended", status: "False" }] }
    const put = await sendFor(sandbox, 200, "PUT", `${jobs}/k/status`, { metadata: { name: "k" }, ...job, status })
    expect(put.metadata.labels).toEqual(metadata.labels)
    expect(put.status.conditions).toEqual([
      { type: "Suspended", status: "False", lastProbeTime: null, lastTransitionTime: null },
    ])
  })

  test("of a container shows both of its states", async () => {
    await sendFor(sandbox, 201, "POST", pods, {
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "x" }] },
    })
    const status = {
      containerStatuses: [{ name: "c", image: "x", imageID: "", ready: true, restartCount: 0, state: { waiting: {} } }],
    }
    const after = await sendFor(sandbox, 200, "PATCH", `${pods}/p/status`, { status }, mergePatch)
    expect(after.status.containerStatuses).toMatchObject([{ lastState: {}, state: { waiting: {} } }])
  })
})

test("a token lives ten minutes at least", async () => {
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "account" } })
  const path = "/api/v1/namespaces/default/serviceaccounts/account/token"
  const refused = await sendFor(sandbox, 422, "POST", path, { spec: { expirationSeconds: 5 } })
  expect(refused.message).toBe(
    'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
  )
})

test("an Event is found by the names of both of its groups, whichever is requested first", async () => {
  const events = "/api/v1/namespaces/default/events"
  const event = { metadata: { name: "e" }, involvedObject: { kind: "Node", namespace: "default" } }
  await sendFor(sandbox, 201, "POST", events, event)
  const named = async (path: string): Promise<ReadonlyArray<string>> =>
    (await sendFor(sandbox, 200, "GET", path)).items.map(({ metadata }) => metadata.name)
  const other = "/apis/events.k8s.io/v1/namespaces/default/events"
  expect(await named(`${events}?fieldSelector=involvedObject.kind=Node`)).toEqual(["e"])
  expect(await named(`${other}?fieldSelector=regarding.kind=Node`)).toEqual(["e"])
})

describe("the labels of a Job created without any", () => {
  test("are those of its template, and are stored with the next write, even if it changes nothing", async () => {
    const made = await sendFor(sandbox, 201, "POST", jobs, { metadata: { name: "unlabelled" }, ...job })
    expect(made.metadata.labels).toMatchObject({ "job-name": "unlabelled" })
    const versions = [made.metadata.resourceVersion]
    for (let change = 0; change < 3; change++) {
      const { metadata } = await sendFor(sandbox, 200, "PATCH", `${jobs}/unlabelled`, {}, mergePatch)
      expect(metadata.labels).toEqual(made.metadata.labels)
      versions.push(metadata.resourceVersion)
    }
    const [first, second, ...later] = versions
    expect(second).not.toBe(first)
    expect(later).toEqual([second, second])
  })
})

describe("the generation of a DaemonSet's template, an annotation", () => {
  const daemonSets = "/apis/apps/v1/namespaces/default/daemonsets"
  const generation = "deprecated.daemonset.template.generation"
  const labels = { a: "b" }
  const daemonSet = (image: string) => ({
    metadata: { name: "d" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image }] } },
    },
  })
  interface Owned {
    readonly manager: string
    readonly fieldsV1: { readonly "f:metadata"?: { readonly "f:annotations"?: Readonly<Record<string, unknown>> } }
  }
  const ownersOf = ({ managedFields }: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
    (managedFields as ReadonlyArray<Owned>)
      .filter(({ fieldsV1 }) => fieldsV1["f:metadata"]?.["f:annotations"]?.[`f:${generation}`] !== undefined)
      .map(({ manager }) => manager)

  test("is owned by the creator and by a client that omits it, not by one that changes the template", async () => {
    const made = await sendFor(sandbox, 201, "POST", `${daemonSets}?fieldManager=creator`, daemonSet("x"))
    expect(made.metadata.annotations).toEqual({ [generation]: "1" })
    expect(ownersOf(made.metadata)).toEqual(["creator"])
    const template = { spec: { template: { spec: { terminationGracePeriodSeconds: 5 } } } }
    const changed = await sendFor(sandbox, 200, "PATCH", `${daemonSets}/d?fieldManager=changer`, template, mergePatch)
    expect(changed.metadata.annotations).toEqual({ [generation]: "2" })
    expect(ownersOf(changed.metadata)).toEqual(["creator"])
    const put = await sendFor(sandbox, 200, "PUT", `${daemonSets}/d?fieldManager=replacer`, daemonSet("y"))
    expect(put.metadata.annotations).toEqual({ [generation]: "3" })
    expect(ownersOf(put.metadata)).toEqual(["replacer"])
    const unchanged = await sendFor(sandbox, 200, "PUT", `${daemonSets}/d/status?fieldManager=observer`, {
      ...daemonSet("y"),
      status: put.status,
    })
    expect(unchanged.metadata.annotations).toEqual({ [generation]: "3" })
  })
})
