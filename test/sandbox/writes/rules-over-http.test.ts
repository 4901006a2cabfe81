/** Rules that only show over HTTP: warnings, pools, admission at updates; responses recorded from Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { bodyOf, mergePatch, pods, send, sendFor } from "./write-client.ts"

const services = "/api/v1/namespaces/default/services"
const endpoints = "/api/v1/namespaces/default/endpoints"
const deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"

describe("Endpoints", () => {
  test("are called deprecated by every response about them, and by no other", async () => {
    await using sandbox = await Sandbox.start()
    const object = { metadata: { name: "web" }, subsets: [{ addresses: [{ ip: "1.2.3.4" }], ports: [{ port: 80 }] }] }
    const answers = [
      await send(sandbox, "POST", endpoints, object),
      await send(sandbox, "GET", `${endpoints}/web`),
      await send(sandbox, "GET", endpoints),
      await send(sandbox, "GET", `${endpoints}?watch=1&timeoutSeconds=1`),
      await send(sandbox, "DELETE", `${endpoints}/web`),
      await send(sandbox, "GET", `${endpoints}/web`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 404])
    for (const { warnings } of answers) expect(warnings).toEqual([deprecated])
    expect((await send(sandbox, "GET", services)).warnings).toEqual([])
  })

  test("keep the warnings of a write beside it", async () => {
    await using sandbox = await Sandbox.start()
    const { warnings } = await send(sandbox, "POST", endpoints, { metadata: { name: "web" }, nope: 1 })
    expect(warnings).toEqual([deprecated, 'unknown field "nope"'])
  })
})

describe("A Service that asks for an address", () => {
  test.each(["10.0.0.0", "10.0.0.255", "10.0.1.1", "1.2.3.4"])("gets none outside the range: %s", async (clusterIP) => {
    await using sandbox = await Sandbox.start()
    const answer = await send(sandbox, "POST", services, {
      metadata: { name: "s" },
      spec: { clusterIP, ports: [{ port: 80 }] },
    })
    expect(answer.status).toBe(422)
    expect(bodyOf(answer).message).toBe(
      `Service "s" is invalid: spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: ` +
        "the provided network does not match the current range",
    )
  })
})

describe("A Pod whose tolerations a client removes", () => {
  test("gets the standard ones again, without a new generation", async () => {
    await using sandbox = await Sandbox.start()
    const pod = { metadata: { name: "a" }, spec: { containers: [{ name: "c", image: "x" }] } }
    const created = await sendFor(sandbox, 201, "POST", pods, pod)
    const patched = await sendFor(sandbox, 200, "PATCH", `${pods}/a`, { spec: { tolerations: [] } }, mergePatch)
    expect(patched.spec.tolerations).toEqual(created.spec.tolerations)
    expect(created.spec.tolerations).toHaveLength(2)
    expect(patched.metadata.generation).toBe(1)
  })
})

describe("An object created with a deletionTimestamp", () => {
  test("is created without it", async () => {
    await using sandbox = await Sandbox.start()
    const metadata = { name: "a", deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 3 }
    const created = await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/default/configmaps", { metadata })
    expect(created.metadata).not.toHaveProperty("deletionTimestamp")
    expect(created.metadata).not.toHaveProperty("deletionGracePeriodSeconds")
  })
})

describe("A status whose counters a client sets to zero", () => {
  test("is stored without those that Go omits", async () => {
    await using sandbox = await Sandbox.start()
    const deployments = "/apis/apps/v1/namespaces/default/deployments"
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "x" }] } }
    const spec = { selector: { matchLabels: { a: "b" } }, template }
    await sendFor(sandbox, 201, "POST", deployments, { metadata: { name: "d" }, spec })
    const status = { replicas: 0, readyReplicas: 0, updatedReplicas: 0, collisionCount: 0 }
    const patched = await sendFor(sandbox, 200, "PATCH", `${deployments}/d/status`, { status }, mergePatch)
    expect(patched.status).toEqual({ collisionCount: 0 })
  })
})

describe("A claim that is bound", () => {
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
  const requesting = (storage: string): object => ({ spec: { resources: { requests: { storage } } } })
  const bound = async (sandbox: Sandbox): Promise<void> => {
    const resources = { requests: { storage: "2Gi" } }
    const spec = { accessModes: ["ReadWriteOnce"], storageClassName: "none", volumeName: "x", resources }
    await sendFor(sandbox, 201, "POST", claims, { metadata: { name: "c" }, spec })
    const status = { phase: "Bound", capacity: { storage: "2Gi" } }
    await sendFor(sandbox, 200, "PATCH", `${claims}/c/status`, { status }, mergePatch)
  }

  test("does not become smaller than its volume", async () => {
    await using sandbox = await Sandbox.start()
    await bound(sandbox)
    const { message } = await sendFor(sandbox, 422, "PATCH", `${claims}/c`, requesting("1Gi"), mergePatch)
    expect(message).toBe(
      'PersistentVolumeClaim "c" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than ' +
        "status.capacity",
    )
  })

  test("stays with its volume; the refusal names what differs", async () => {
    await using sandbox = await Sandbox.start()
    await bound(sandbox)
    const refused = await sendFor(sandbox, 422, "PATCH", `${claims}/c`, { spec: { volumeName: "y" } }, mergePatch)
    expect(refused.details.causes).toMatchObject([{ reason: "FieldValueForbidden", field: "spec" }])
    expect(refused.message).toMatch(/; changed: spec\.volumeName$/)
  })
})
