import { describe, expect, test } from "vitest"
import {
  withNewNamespacesInPod,
  withNewNamespacesInPolicy,
} from "../../../src/simulation/objects/renamed-references.ts"
import type { Rewriting } from "../../../src/simulation/objects/target-object.ts"
import { targetObject, targetPlace } from "../../../src/simulation/objects/target-object.ts"
import type { JsonObject } from "../../../src/trace/index.ts"

const newName = (namespace: string): string => `virtual-${namespace}`
const byName = (name: string): JsonObject => ({ matchLabels: { team: "a", "kubernetes.io/metadata.name": name } })
const among = (operator: string, ...values: ReadonlyArray<string>): JsonObject => ({
  matchExpressions: [
    { key: "kubernetes.io/metadata.name", operator, values },
    { key: "team", operator: "In", values: ["shop"] },
  ],
})

describe("Namespaces of the replay are meant", () => {
  test("by the peers of a network policy", () => {
    const policy = (shop: string, bank: string): JsonObject => ({
      spec: {
        podSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
        ingress: [{ from: [{ namespaceSelector: byName(shop) }, { podSelector: {} }] }, {}],
        egress: [{ to: [{ namespaceSelector: among("NotIn", shop, bank), podSelector: {} }], ports: [{ port: 53 }] }],
      },
    })
    expect(withNewNamespacesInPolicy(policy("shop", "bank"), newName)).toEqual(policy("virtual-shop", "virtual-bank"))
  })

  test("by the affinity of pods, required and preferred, by name and by label", () => {
    const terms = (shop: string): JsonObject => ({
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "zone", namespaces: [shop, shop], namespaceSelector: byName(shop) },
      ],
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: "zone", namespaceSelector: among("In", shop) } },
      ],
    })
    const spec = (shop: string): JsonObject => ({
      containers: [],
      affinity: { nodeAffinity: { namespaces: ["shop"] }, podAffinity: terms(shop), podAntiAffinity: terms(shop) },
    })
    expect(withNewNamespacesInPod(spec("shop"), newName)).toEqual(spec("virtual-shop"))
  })

  test("in the objects that a replay writes, also in pod templates", () => {
    const rewriting: Rewriting = {
      replay: "test",
      root: { apiVersion: "v1", kind: "Namespace", name: "root", uid: "uid" },
      namespacePrefix: "virtual",
      placement: { nodeSelector: {}, taintKey: undefined },
      templatePaths: () => undefined,
      isReplayed: () => true,
    }
    const written = (gvk: string, object: JsonObject): JsonObject => {
      const place = targetPlace(gvk, "shop", "web", rewriting)
      if (place === undefined) throw new Error("too long")
      return targetObject(object, place, "shop", rewriting, () => false).body
    }
    const term = (name: string): JsonObject => ({ topologyKey: "zone", namespaces: [name] })
    const affinity = (name: string): JsonObject => ({
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(name)] },
    })
    expect(
      written("apps/v1.Deployment", { spec: { template: { spec: { affinity: affinity("shop") } } } }),
    ).toMatchObject({
      spec: { template: { spec: { affinity: affinity("virtual-shop") } } },
    })
    const from = (name: string): JsonObject => ({
      spec: { ingress: [{ from: [{ namespaceSelector: byName(name) }] }] },
    })
    expect(written("networking.k8s.io/v1.NetworkPolicy", from("shop"))).toMatchObject(from("virtual-shop"))
  })
})

test("What selects no namespace by name stays as it is", () => {
  const exists = { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "Exists" }] }
  const policy = {
    spec: { ingress: [{ from: [{ namespaceSelector: exists }, { namespaceSelector: {} }, null, "x"] }] },
  }
  expect(withNewNamespacesInPolicy(policy, newName)).toEqual(policy)
  const spec = {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ namespaces: "shop" }] } },
  }
  expect(withNewNamespacesInPod(spec, newName)).toEqual(spec)
})
