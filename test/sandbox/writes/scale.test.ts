/** `/scale`, read and written in every way that clients have. */

import { beforeAll, expect, test } from "vitest"
import { openForFile } from "../opened-sandbox.ts"
import { applyPatch, bodyOf, deployment, deployments, jsonPatch, mergePatch, send, sendFor } from "./write-client.ts"

const sandbox = await openForFile()
beforeAll(async () => {
  await sendFor(sandbox, 201, "POST", deployments, deployment("web", 2))
})

const path = `${deployments}/web/scale`
const replicas = (): unknown => {
  const spec = sandbox.get("apps/v1.Deployment", "default", "web")?.spec as { readonly replicas: number } | undefined
  return spec?.replicas
}
const scale = (count: number, metadata: object = {}) => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "web", ...metadata },
  spec: { replicas: count },
})

test("a scale shows the replicas and the selector of their pods", async () => {
  const { metadata, ...rest } = await sendFor(sandbox, 200, "GET", path)
  expect(rest).toEqual({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "app=web" },
  })
  const { uid, resourceVersion } = sandbox.get("apps/v1.Deployment", "default", "web")?.metadata ?? {}
  expect(metadata).toMatchObject({ name: "web", namespace: "default", uid, resourceVersion })
})

test("it is written by PUT, patched and applied; every change is a new generation", async () => {
  await sendFor(sandbox, 200, "PUT", path, scale(3))
  expect(replicas()).toBe(3)
  await sendFor(sandbox, 200, "PATCH", path, { spec: { replicas: 4 } }, mergePatch)
  expect(replicas()).toBe(4)
  await sendFor(sandbox, 200, "PATCH", path, [{ op: "replace", path: "/spec/replicas", value: 5 }], jsonPatch)
  expect(replicas()).toBe(5)
  const answer = await sendFor(sandbox, 200, "PATCH", `${path}?fieldManager=m&force=true`, scale(6), applyPatch)
  expect([answer.spec.replicas, replicas()]).toEqual([6, 6])
  expect(sandbox.get("apps/v1.Deployment", "default", "web")?.metadata.generation).toBe(5)
})

test("a given version must be the current one", async () => {
  expect((await send(sandbox, "PUT", path, scale(1, { resourceVersion: "1" }))).status).toBe(409)
  const { metadata } = await sendFor(sandbox, 200, "GET", path)
  await sendFor(sandbox, 200, "PUT", path, scale(1, { resourceVersion: metadata.resourceVersion }))
})

test("an apply that takes replicas from others without force is a conflict", async () => {
  const answer = await send(sandbox, "PATCH", `${path}?fieldManager=other`, scale(9), applyPatch)
  expect([answer.status, bodyOf(answer).reason]).toEqual([409, "Conflict"])
  expect(replicas()).toBe(1)
})

test("kinds without a scale have none", async () => {
  expect((await send(sandbox, "GET", "/apis/apps/v1/namespaces/default/daemonsets/x/scale")).status).toBe(404)
})

test("A Scale is shown as a table, as YAML or without its replicas, as the client wants it", async () => {
  await sendFor(sandbox, 201, "POST", deployments, deployment("shown", 2))
  const read = async (accept: string, query = "") => {
    const url = `${sandbox.url}${deployments}/shown/scale${query}`
    return (await fetch(url, { headers: { Accept: accept } })).text()
  }
  const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
  const table = JSON.parse(await read(asTable))
  expect(table.columnDefinitions.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toEqual([
    "Name string",
    "Desired integer",
    "Available integer",
    "Age string",
  ])
  expect(table.rows[0]).toMatchObject({
    cells: ["shown", 2, 0, expect.stringMatching(/^\d+s$/)],
    object: { kind: "PartialObjectMetadata", metadata: { name: "shown" } },
  })
  expect(JSON.parse(await read(asTable, "?includeObject=Object")).rows[0].object).toMatchObject({
    kind: "Scale",
    spec: { replicas: 2 },
  })
  expect(JSON.parse(await read("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"))).not.toHaveProperty(
    "spec",
  )
  expect(await read("application/yaml")).toContain("kind: Scale\n")
})
