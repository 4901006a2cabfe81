/** LimitRanges and ResourceQuotas; what is filled in, refused and said was recorded from Kubernetes 1.34.4. */

import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { eventually } from "../../harness/eventually.ts"
import { bodyOf, mergePatch, send, sendFor } from "./write-client.ts"

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await Sandbox.start({ lifecycle: true })
})
afterEach(() => sandbox.close())

const core = "/api/v1/namespaces/default/"
const pods = `${core}pods`
const claims = `${core}persistentvolumeclaims`
const quotas = `${core}resourcequotas`

const container = (resources?: object, name = "c") => ({ name, image: "x", ...(resources && { resources }) })
const pod = (name: string, ...containers: ReadonlyArray<object>) => ({ metadata: { name }, spec: { containers } })
const claim = (name: string, storage: string) => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
})
const put = async (path: string, body: { readonly metadata: { readonly name: string } }): Promise<string> => {
  const answer = await send(sandbox, "POST", path, body)
  if (answer.status === 201) return ""
  const { code, reason, message } = bodyOf(answer)
  expect([code, reason]).toEqual([403, "Forbidden"])
  return message.replace(/^.* is forbidden: /, "")
}

describe("A LimitRange", () => {
  beforeEach(async () => {
    const limits = [
      {
        type: "Container",
        default: { cpu: "500m", memory: "256Mi" },
        defaultRequest: { cpu: "100m" },
        max: { cpu: "1" },
        min: { cpu: "50m" },
        maxLimitRequestRatio: { memory: "2" },
      },
      { type: "Pod", max: { cpu: "2" } },
      { type: "PersistentVolumeClaim", max: { storage: "5Gi" }, min: { storage: "1Gi" } },
    ]
    await sendFor(sandbox, 201, "POST", `${core}limitranges`, { metadata: { name: "lr" }, spec: { limits } })
  })

  test("fills in what containers do not say, and notes it on the Pod", async () => {
    const both = pod("d", container(), container({ limits: { cpu: "200m" } }, "e"))
    const body = { ...both, spec: { ...both.spec, initContainers: [container(undefined, "i")] } }
    const created = await sendFor(sandbox, 201, "POST", pods, body)
    const { containers } = created.spec as { containers: ReadonlyArray<{ resources: object }> }
    expect(containers.map(({ resources }) => resources)).toEqual([
      { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "100m", memory: "256Mi" } },
      { limits: { cpu: "200m", memory: "256Mi" }, requests: { cpu: "200m", memory: "256Mi" } },
    ])
    expect(created.metadata.annotations).toEqual({
      "kubernetes.io/limit-ranger":
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; " +
        "memory request for container e; memory limit for container e; cpu, memory request for init container i; " +
        "cpu, memory limit for init container i",
    })
  })

  test("refuses Pods and claims beyond its bounds", async () => {
    expect(await put(pods, pod("m", container({ limits: { cpu: "3" } })))).toBe(
      "[maximum cpu usage per Container is 1, but limit is 3, maximum cpu usage per Pod is 2, but limit is 3]",
    )
    expect(await put(pods, pod("m", container({ requests: { cpu: "10m" } })))).toBe(
      "minimum cpu usage per Container is 50m, but request is 10m",
    )
    const uneven = { requests: { memory: "10Mi" }, limits: { memory: "100Mi" } }
    expect(await put(pods, pod("m", container(uneven)))).toBe(
      "memory max limit to request ratio per Container is 2, but provided ratio is 10.000000",
    )
    const three = ["a", "b", "c"].map((name) => container({ limits: { cpu: "1" } }, name))
    expect(await put(pods, pod("m", ...three))).toBe("maximum cpu usage per Pod is 2, but limit is 3")
    expect(await put(claims, claim("b", "9Gi"))).toBe(
      "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 9Gi",
    )
    expect(await put(claims, claim("s", "1Mi"))).toBe(
      "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi",
    )
    expect(await put(claims, claim("fits", "2Gi"))).toBe("")
  })
})

describe("A ResourceQuota", () => {
  const hard = {
    pods: "2",
    "requests.cpu": "1",
    "limits.memory": "1Gi",
    configmaps: "3",
    "count/secrets": "1",
    "count/deployments.apps": "1",
    services: "1",
    "services.loadbalancers": "0",
    "requests.storage": "5Gi",
    persistentvolumeclaims: "1",
  }
  const usedBy = (name: string): unknown =>
    (sandbox.get("v1.ResourceQuota", "default", name)?.status as { readonly used?: object } | undefined)?.used
  const needs = (cpu: string) => container({ requests: { cpu }, limits: { memory: "100Mi", cpu: "600m" } })

  test("refuses what exceeds it, and its status says what is used", async () => {
    await eventually(() => expect(sandbox.get("v1.ConfigMap", "default", "kube-root-ca.crt")).toBeDefined())
    await sendFor(sandbox, 201, "POST", quotas, { metadata: { name: "rq" }, spec: { hard } })
    expect(await put(pods, pod("a", container()))).toBe(
      "failed quota: rq: must specify limits.memory for: c; requests.cpu for: c",
    )
    expect(await put(pods, pod("a", needs("600m")))).toBe("")
    expect(await put(pods, pod("b", needs("600m")))).toBe(
      "exceeded quota: rq, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1",
    )
    expect(await put(pods, pod("b", needs("100m")))).toBe("")
    const full = "exceeded quota: rq, requested: pods=1, used: pods=2, limited: pods=2"
    expect(await put(pods, pod("c", needs("100m")))).toBe(full)
    expect(await put(`${pods}?dryRun=All`, pod("c", needs("100m")))).toBe(full)
    const secret = (name: string) => ({ metadata: { name } })
    expect(await put(`${core}secrets`, secret("s1"))).toBe("")
    expect(await put(`${core}secrets`, secret("s2"))).toBe(
      "exceeded quota: rq, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1",
    )
    expect(await put(claims, claim("big", "9Gi"))).toBe(
      "exceeded quota: rq, requested: requests.storage=9Gi, used: requests.storage=0, limited: requests.storage=5Gi",
    )
    const service = { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } }
    expect(await put(`${core}services`, service)).toBe("")
    const balanced = await send(sandbox, "PATCH", `${core}services/s`, { spec: { type: "LoadBalancer" } }, mergePatch)
    expect([balanced.status, bodyOf(balanced).message]).toEqual([
      403,
      'services "s" is forbidden: exceeded quota: rq, requested: services.loadbalancers=1, ' +
        "used: services.loadbalancers=0, limited: services.loadbalancers=0",
    ])
    await eventually(() =>
      expect(usedBy("rq")).toEqual({
        configmaps: "1",
        "count/deployments.apps": "0",
        "count/secrets": "1",
        "limits.memory": "200Mi",
        persistentvolumeclaims: "0",
        pods: "2",
        "requests.cpu": "700m",
        "requests.storage": "0",
        services: "1",
        "services.loadbalancers": "0",
      }),
    )
  })

  test("gets back what a Pod used that ends or is removed", async () => {
    await sendFor(sandbox, 201, "POST", quotas, { metadata: { name: "rq" }, spec: { hard: { pods: "1" } } })
    expect(await put(pods, pod("a", container()))).toBe("")
    await eventually(() => expect(usedBy("rq")).toEqual({ pods: "1" }))
    await sendFor(sandbox, 200, "PATCH", `${pods}/a/status`, { status: { phase: "Succeeded" } }, mergePatch)
    await eventually(() => expect(usedBy("rq")).toEqual({ pods: "0" }))
    expect(await put(pods, pod("b", container()))).toBe("")
    await sendFor(sandbox, 200, "DELETE", `${pods}/b?gracePeriodSeconds=0`)
    expect(await put(pods, pod("c", container()))).toBe("")
    await sendFor(sandbox, 200, "PATCH", `${quotas}/rq`, { spec: { hard: { pods: "3" } } }, mergePatch)
    expect(await put(pods, pod("d", container()))).toBe("")
    await eventually(() => expect(usedBy("rq")).toEqual({ pods: "2" }))
  })

  test("with scopes is about the Pods in them only", async () => {
    const limited = (scope: object) => ({ hard: { pods: "0" }, ...scope })
    await sendFor(sandbox, 201, "POST", quotas, {
      metadata: { name: "best" },
      spec: limited({ scopes: ["BestEffort"] }),
    })
    await sendFor(sandbox, 201, "POST", quotas, {
      metadata: { name: "high" },
      spec: limited({
        scopeSelector: {
          matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["system-cluster-critical"] }],
        },
      }),
    })
    expect(await put(pods, pod("a", container()))).toMatch(/^exceeded quota: best, /)
    const some = container({ requests: { cpu: "1m" } })
    const critical = pod("b", some)
    expect(
      await put(pods, {
        ...critical,
        spec: { ...critical.spec, priorityClassName: "system-cluster-critical" },
      } as never),
    ).toMatch(/^exceeded quota: high, /)
    expect(await put(pods, pod("c", some))).toBe("")
  })
})

test("The creator of rules that a sandbox does not evaluate is warned", async () => {
  const policy = { metadata: { name: "p" }, spec: { podSelector: {} } }
  const answer = await send(sandbox, "POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", policy)
  expect([answer.status, answer.warnings]).toEqual([
    201,
    ["this NetworkPolicy is stored, but in a sandbox no traffic is blocked"],
  ])
  const quota = await send(sandbox, "POST", quotas, { metadata: { name: "q" }, spec: { hard: { pods: "1" } } })
  expect([quota.status, quota.warnings]).toEqual([201, []])
})
