/** What an operator of shops has to do: a Deployment for a ConfigMap with the label app, as large as it says, and a note of when it is ready. */

import { expect } from "vitest"
import { kinds } from "../../src/kube/index.ts"
import { eventually } from "../harness/eventually.ts"
import type { Surroundings } from "./with-program.ts"

const name = "shop"
const shop = { namespace: "default", name }

/** The note on the ConfigMap. */
const ready = ({ sandbox }: Surroundings): string | undefined => {
  const annotations = sandbox.get("v1.ConfigMap", "default", name)?.metadata.annotations
  return (annotations as Record<string, string> | undefined)?.["example.com/ready"]
}

export const openShop = async (surroundings: Surroundings): Promise<void> => {
  await surroundings.api.create(kinds.configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...shop, labels: { app: name } },
    data: { replicas: "2" },
  })
  await eventually(() => expect(ready(surroundings)).toBe("2"))
}

/** The operator notices that its Deployment is gone, and makes it again. */
export const loseDeployment = async ({ sandbox, api }: Surroundings): Promise<void> => {
  const uid = () => sandbox.get("apps/v1.Deployment", "default", name)?.metadata.uid
  const first = uid()
  await api.delete(kinds.deployments, shop)
  await eventually(() => expect([undefined, first]).not.toContain(uid()))
  const owners = sandbox.get("apps/v1.Deployment", "default", name)?.metadata.ownerReferences
  expect(owners).toEqual([expect.objectContaining({ kind: "ConfigMap", name, controller: true })])
}

export const enlargeShop = async (surroundings: Surroundings): Promise<void> => {
  await surroundings.api.patch(kinds.configMaps, shop, "merge", { data: { replicas: "3" } })
  await eventually(() => expect(ready(surroundings)).toBe("3"))
  expect(surroundings.sandbox.get("apps/v1.Deployment", "default", name)?.status).toMatchObject({ readyReplicas: 3 })
}
