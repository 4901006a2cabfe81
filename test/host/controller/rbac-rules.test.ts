import { expect, test } from "vitest"
import { defineController, rulesOf } from "../../../src/host/controllers.ts"
import { type Kind, kinds } from "../../../src/kube/index.ts"
import { widgetKind } from "./running.ts"

const known: Readonly<Record<string, Kind>> = {
  "example.com/v1.Widget": widgetKind,
  "v1.Pod": kinds.pods,
  "v1.Node": kinds.nodes,
  "v1.ConfigMap": kinds.configMaps,
}
const kindOf = async (name: string): Promise<Kind> => known[name] ?? Promise.reject(new Error(`no ${name}`))
const reconcile = () => undefined

test("Rules allow what is watched and written, and nothing else", async () => {
  const controller = defineController({
    name: "widgets",
    for: "example.com/v1.Widget",
    owns: ["v1.Pod"],
    reads: ["v1.Node", "v1.ConfigMap"],
    writes: [{ kind: "v1.Pod", verbs: ["create", "delete"] }, "example.com/v1.Widget/status"],
    finalizer: { name: "example.com/clean", cleanUp: reconcile },
    reconcile,
  })
  expect(await rulesOf([controller], kindOf, { leaseNamespace: "system" })).toEqual([
    {
      namespace: undefined,
      rules: [
        { apiGroups: [""], resources: ["configmaps", "nodes"], verbs: ["get", "list", "watch"] },
        { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
        { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "create", "delete"] },
        { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list", "watch", "patch"] },
        { apiGroups: ["example.com"], resources: ["widgets/finalizers"], verbs: ["update"] },
        { apiGroups: ["example.com"], resources: ["widgets/status"], verbs: ["update", "patch"] },
      ],
    },
    {
      namespace: "system",
      rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] }],
    },
  ])
})

test("A controller of one namespace needs a Role there, and a ClusterRole only for cluster-scoped kinds", async () => {
  const controller = defineController({
    name: "local",
    for: { kind: "example.com/v1.Widget", namespace: "shop" },
    owns: ["v1.Pod"],
    reads: ["v1.Node"],
    reconcile,
  })
  const scopes = await rulesOf([controller], kindOf)
  expect(scopes.map(({ namespace, rules }) => [namespace, rules.flatMap(({ resources }) => resources)])).toEqual([
    [undefined, ["nodes"]],
    ["shop", ["events", "pods", "widgets", "widgets/finalizers"]],
  ])
  await expect(rulesOf([defineController({ name: "x", for: "v1.Other", reconcile })], kindOf)).rejects.toThrow(
    "no v1.Other",
  )
})
