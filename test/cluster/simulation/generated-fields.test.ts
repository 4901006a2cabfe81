/**
 * Why fields are removed before a replay: with the recorded value, the server rejects a copy in another namespace, or its controllers
 * misunderstand it; without it, the copy is accepted.
 *
 * Not here, because this server accepts the recorded value as well:
 * - job-name labels, which have the same value again, and the labels of a Job itself;
 * - token volumes and serviceAccount, which admission would write in the same way;
 * - annotations of Deployments, ReplicaSets, DaemonSets and autoscalers, which controllers overwrite;
 * - finalizers and the name label of a namespace, which the server overwrites;
 * - secrets of a ServiceAccount, which name nothing in the copy's namespace;
 * - nodeName, with which a pod is accepted and then deleted by the garbage collector after a minute.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  ApiClient,
  type ApiError,
  type ApiObject,
  kinds,
  loadCredentials,
  ResourceFinder,
} from "../../../src/kube/index.ts"
import { type JsonObject, withoutGenerated, withoutStatus } from "../../../src/trace/index.ts"
import { openTestCluster } from "../guard.ts"
import { gvkOf, kindOf } from "./recorded-trace.ts"

const id = String(process.pid)
const recorded = `recorded-${id}`
const copies = `copies-${id}`
const fieldManager = "kubereel"

let client: ApiClient
let finder: ResourceFinder

beforeAll(async () => {
  const { kubeconfig } = await openTestCluster()
  const server = await loadCredentials({ kubeconfig, context: undefined })
  // Without retries: the server responds to a health check port that is taken with 500.
  client = new ApiClient({ server, userAgent: "kubereel-replay-test" })
  finder = new ResourceFinder(client.connection)
  for (const name of [recorded, copies])
    await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
})
afterAll(async () => {
  for (const name of [recorded, copies]) await client?.delete(kinds.namespaces, { name })
  client?.close()
})

/** What a replay would write, once with the generated fields and once without. */
const copiesOf = (stored: ApiObject): { readonly raw: JsonObject; readonly clean: JsonObject } => {
  const gvk = gvkOf(stored)
  const object = JSON.parse(JSON.stringify(stored)) as JsonObject
  const replayed = withoutStatus(gvk, object, () => false)
  const raw = { ...replayed, metadata: { ...(replayed.metadata as JsonObject), namespace: copies } }
  return { raw, clean: withoutGenerated(gvk, raw) }
}

/** Not a dry run, in which addresses are not allocated. */
const applied = async (body: JsonObject): Promise<ApiObject> => {
  const object = body as unknown as ApiObject
  const place = { namespace: copies, name: object.metadata.name }
  return client.apply<ApiObject>(await kindOf(finder, object), place, body, { fieldManager, force: true })
}

const without = (object: JsonObject, ...path: ReadonlyArray<string>): JsonObject => {
  const [key = "", ...rest] = path
  const { [key]: value, ...others } = object
  return rest.length === 0 ? others : { ...others, [key]: without(value as JsonObject, ...rest) }
}

const podSpec = { containers: [{ name: "web", image: "web" }] }
const port = { name: "http", port: 80 }
const service = (spec: object): object => ({ apiVersion: "v1", kind: "Service", spec: { ...spec, ports: [port] } })
const pod = (spec: object): object => ({ apiVersion: "v1", kind: "Pod", spec: { ...podSpec, ...spec } })
const job = {
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } },
}
const unscheduled = { schedulerName: "nobody" }

interface Row {
  readonly title: string
  /** Created in the recorded namespace. */
  readonly source: object
  /** A change of the stored object: the value in question only, or one that only another cluster has. */
  readonly change?: (stored: JsonObject) => JsonObject
  readonly code: number
  readonly detail: string
}

const rows: ReadonlyArray<Row> = [
  {
    title: "the selector of a Job",
    source: job,
    change: (stored) => without(stored, "spec", "template", "metadata", "labels"),
    code: 422,
    detail: "`selector` not auto-generated",
  },
  {
    title: "the label controller-uid of a Job's template",
    source: job,
    change: (stored) => without(stored, "spec", "selector"),
    code: 422,
    detail: "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]",
  },
  { title: "clusterIP and clusterIPs", source: service({}), code: 422, detail: "provided IP is already allocated" },
  {
    title: "the port of the nodes",
    source: service({ type: "NodePort" }),
    change: (stored) => without(without(stored, "spec", "clusterIP"), "spec", "clusterIPs"),
    code: 422,
    detail: "provided port is already allocated",
  },
  {
    title: "healthCheckNodePort",
    source: service({ type: "LoadBalancer", externalTrafficPolicy: "Local", allocateLoadBalancerNodePorts: false }),
    change: (stored) => without(without(stored, "spec", "clusterIP"), "spec", "clusterIPs"),
    code: 500,
    detail: "provided port is already allocated",
  },
  {
    title: "the IP families of a cluster with another network",
    source: service({}),
    change: (stored) => ({
      ...stored,
      spec: { ...(stored.spec as JsonObject), clusterIP: "fd00::1", clusterIPs: ["fd00::1"], ipFamilies: ["IPv6"] },
    }),
    code: 422,
    detail: "not configured on this cluster",
  },
  {
    title: "the priority of a class that has another value here",
    source: pod(unscheduled),
    change: (stored) => ({ ...stored, spec: { ...(stored.spec as JsonObject), priority: 5 } }),
    code: 403,
    detail: "the integer value of priority (5) must not be provided in pod spec",
  },
  {
    title: "the preemption policy of a class that has another one here",
    source: pod(unscheduled),
    change: (stored) => ({ ...stored, spec: { ...(stored.spec as JsonObject), preemptionPolicy: "Never" } }),
    code: 403,
    detail: "the string value of PreemptionPolicy (Never) must not be provided in pod spec",
  },
  {
    title: "an ephemeral container",
    source: pod(unscheduled),
    change: (stored) => ({
      ...stored,
      spec: { ...(stored.spec as JsonObject), ephemeralContainers: [{ name: "debugger", image: "busybox" }] },
    }),
    code: 422,
    detail: "spec.ephemeralContainers",
  },
]

test.each(rows)("the server rejects a copy with $title, and accepts it without", async (row) => {
  const name = `row-${rows.indexOf(row)}`
  const source = { ...row.source, metadata: { name, namespace: recorded } } as unknown as ApiObject
  const created = await client.create(await kindOf(finder, source), source)
  const stored = created as unknown as JsonObject
  const { raw, clean } = copiesOf((row.change?.(stored) ?? stored) as unknown as ApiObject)
  const error: ApiError = await applied(raw).then(
    () => Promise.reject(new Error("it was accepted")),
    (refused: ApiError) => refused,
  )
  expect(error).toMatchObject({ code: row.code, detail: expect.stringContaining(row.detail) })
  expect(await applied(clean)).toMatchObject({ metadata: { name, namespace: copies } })
})

const bindCompleted = "pv.kubernetes.io/bind-completed"

test("a claim counts as lost with the volume and annotations of a bound one, and waits for a volume without them", async () => {
  const claim = (name: string): ApiObject => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: recorded, annotations: { [bindCompleted]: "yes" } },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "",
      volumeName: "of-another-cluster",
    },
  })
  const phaseOf = async (body: JsonObject): Promise<unknown> => {
    const { name } = body.metadata as { name: string }
    const place = { namespace: copies, name }
    await client.apply(kinds.claims, place, body, { fieldManager, force: true })
    const patient = performance.now() + 3_000
    for (;;) {
      const { status } = await client.get<ApiObject>(kinds.claims, place)
      const { phase } = status as { phase?: string }
      if (phase === "Lost" || performance.now() > patient) return phase
      await sleep(100)
    }
  }
  expect(await phaseOf(copiesOf(claim("with-both")).raw)).toBe("Lost")
  const annotated = copiesOf(claim("annotated")).raw
  expect(await phaseOf(without(annotated, "spec", "volumeName"))).toBe("Lost")
  const { clean } = copiesOf(claim("clean"))
  expect(clean.spec).not.toHaveProperty("volumeName")
  expect(await phaseOf(clean)).toBe("Pending")
})
