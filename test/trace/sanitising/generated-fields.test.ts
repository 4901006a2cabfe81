import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { formatExactJson, type JsonObject, type JsonValue } from "../../../src/trace/index.ts"
import { generatedFields, withoutGenerated } from "../../../src/trace/sanitising/generated-fields.ts"
import { jsonValue, objectOf } from "../json-values.ts"

const service = "v1.Service"
const job = "batch/v1.Job"
const pod = "v1.Pod"

describe("Of a Job", () => {
  const generated = { "batch.kubernetes.io/controller-uid": "u", "controller-uid": "u", "job-name": "once" }
  const jobWith = (own: JsonObject, spec: JsonObject): JsonObject => ({
    metadata: { name: "once", labels: { ...generated, ...own } },
    spec: {
      ...spec,
      selector: { matchLabels: generated },
      template: { metadata: { labels: { ...generated, ...own } } },
    },
  })

  test("the selector and the labels that the server added are removed", () => {
    expect(withoutGenerated(job, jobWith({ app: "web" }, {}))).toEqual({
      metadata: { name: "once", labels: { app: "web" } },
      spec: { template: { metadata: { labels: { app: "web" } } } },
    })
  })

  test("the selector stays if manualSelector is set, and so do the labels that it selects by", () => {
    const manual = jobWith({}, { manualSelector: true })
    expect(withoutGenerated(job, manual)).toBe(manual)
    expect(withoutGenerated(job, jobWith({}, { manualSelector: false }))).toEqual({
      metadata: { name: "once" },
      spec: { manualSelector: false },
    })
  })
})

describe("Of a Service", () => {
  test("addresses and ports of the cluster are removed, and its own ports stay", () => {
    const stored = {
      spec: {
        clusterIP: "10.0.0.7",
        clusterIPs: ["10.0.0.7", "fd00::7"],
        ipFamilies: ["IPv4", "IPv6"],
        ipFamilyPolicy: "PreferDualStack",
        healthCheckNodePort: 30001,
        ports: [
          { name: "http", port: 80, nodePort: 30080 },
          { name: "tls", port: 443 },
        ],
      },
    }
    expect(withoutGenerated(service, stored)).toEqual({
      spec: {
        ipFamilyPolicy: "PreferDualStack",
        ports: [
          { name: "http", port: 80 },
          { name: "tls", port: 443 },
        ],
      },
    })
  })

  test("None stays: it asks for no address", () => {
    const headless = { spec: { clusterIP: "None", clusterIPs: ["None"], ipFamilyPolicy: "SingleStack" } }
    expect(withoutGenerated(service, headless)).toEqual({ spec: { clusterIP: "None", clusterIPs: ["None"] } })
  })
})

describe("Of a Pod", () => {
  test("the token's volume is removed with its mounts, and other volumes stay", () => {
    const token = { name: "kube-api-access-x7k2p", projected: {} }
    const mounts = [{ name: "data", mountPath: "/data" }, { name: "kube-api-access-x7k2p" }]
    const [own, mount] = [
      { name: "kube-api-access-of-mine", emptyDir: {} },
      { name: "data", mountPath: "/data" },
    ]
    const stored = {
      spec: {
        volumes: [own, token],
        containers: [
          { name: "a", volumeMounts: mounts },
          { name: "b", volumeMounts: [token] },
        ],
        initContainers: [{ name: "c", volumeMounts: [token] }],
      },
    }
    expect(withoutGenerated(pod, stored)).toEqual({
      spec: {
        volumes: [own],
        containers: [{ name: "a", volumeMounts: [mount] }, { name: "b" }],
        initContainers: [{ name: "c" }],
      },
    })
  })

  test("what admission and the scheduler decided is removed, and what was asked of them stays", () => {
    const asked = { priorityClassName: "fast", serviceAccountName: "web" }
    const decided = { priority: 1000, preemptionPolicy: "Never", serviceAccount: "web", nodeName: "node-1" }
    const debugged = { ephemeralContainers: [{ name: "debugger" }] }
    expect(withoutGenerated(pod, { spec: { ...asked, ...decided, ...debugged } })).toEqual({ spec: asked })
  })
})

test.each([
  ["v1.PersistentVolumeClaim", { spec: { volumeName: "pv-1" } }, { spec: {} }],
  [
    "v1.PersistentVolumeClaim",
    { metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } } },
    { metadata: {} },
  ],
  ["v1.ServiceAccount", { secrets: [{ name: "web-token" }], metadata: {} }, { metadata: {} }],
  ["v1.Namespace", { spec: { finalizers: ["kubernetes"] } }, { spec: {} }],
] as ReadonlyArray<readonly [string, JsonObject, JsonObject]>)(
  "of a %s with %j only %j is left: its metadata and its spec stay, even empty",
  (gvk, stored, left) => expect(withoutGenerated(gvk, stored)).toEqual(left),
)

test("an object without generated fields is returned itself, and so is one of an unknown kind", () => {
  const web = { metadata: { name: "web", annotations: {} }, spec: { ports: [{ port: 80 }], selector: {} } }
  expect(withoutGenerated(service, web)).toBe(web)
  const other = { spec: { clusterIP: "10.0.0.7" } }
  expect(withoutGenerated("example.com/v1.Service", other)).toBe(other)
})

describe("Whatever an object contains", () => {
  /** Objects with values of any sort along the paths of a kind: where a list is expected, and where none is. */
  const objectAlong = (paths: ReadonlyArray<ReadonlyArray<string>>): fc.Arbitrary<JsonValue> => {
    const heads = [...new Set(paths.flatMap(([head]) => head ?? []))]
    if (heads.length === 0) return jsonValue
    const below = (head: string) => objectAlong(paths.filter(([first]) => first === head).map(([, ...rest]) => rest))
    if (heads.includes("*"))
      return fc.oneof({ weight: 3, arbitrary: fc.array(below("*"), { maxLength: 3 }) }, jsonValue)
    const entry = fc.oneof(
      ...heads.map((head) => fc.tuple(fc.constant(head), below(head))),
      fc.tuple(fc.constantFrom("name", "other", "__proto__", "\\"), jsonValue),
    )
    const map = fc.uniqueArray(entry, { maxLength: 6, selector: ([key]) => key }).map(objectOf)
    return fc.oneof({ weight: 5, arbitrary: map }, jsonValue)
  }
  const kinds = [...generatedFields].map(([gvk, fields]) =>
    fc.tuple(
      fc.constant(gvk),
      fc.record({
        metadata: objectAlong(fields.filter(({ path }) => path[0] === "metadata").map(({ path }) => path.slice(1))),
        spec: objectAlong(fields.filter(({ path }) => path[0] === "spec").map(({ path }) => path.slice(1))),
      }),
    ),
  )
  const objects = fc.oneof(...kinds)

  test("it is never changed, and a second removal finds nothing", () => {
    fc.assert(
      fc.property(objects, ([gvk, object]) => {
        const before = formatExactJson(object)
        const once = withoutGenerated(gvk, object)
        expect(formatExactJson(object)).toBe(before)
        expect(withoutGenerated(gvk, once)).toBe(once)
      }),
      { numRuns: 1000 },
    )
  })
})
