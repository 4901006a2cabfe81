import { expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"

test("a dry run shows the address and the port that a Service would get, and keeps neither", async () => {
  await using sandbox = await Sandbox.start()
  const path = "/api/v1/namespaces/default/services"
  const service = (name: string, clusterIP?: string) => ({
    metadata: { name },
    spec: {
      type: "NodePort",
      ports: [{ port: 80, nodePort: 30_500 }],
      ...(clusterIP === undefined ? {} : { clusterIP }),
    },
  })
  const create = async (body: object, query = "") => sandbox.request({ method: "POST", path: path + query, body })
  const tried = await create(service("web"), "?dryRun=All")
  const { spec } = JSON.parse(tried.text) as { spec: { clusterIP: string; ports: ReadonlyArray<{ nodePort: number }> } }
  expect(spec).toMatchObject({ clusterIP: expect.stringMatching(/^10\.0\.0\./), ports: [{ nodePort: 30_500 }] })
  // Both are still free.
  expect((await create(service("web", spec.clusterIP))).status).toBe(201)
  const taken = await create(service("other", spec.clusterIP), "?dryRun=All")
  expect(taken.status).toBe(422)
  expect(taken.text).toContain("provided IP is already allocated")
})
