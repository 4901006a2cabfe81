/** The custom kind of the operators here, and a definition for those that do not bring one. */

import type { Kind } from "../../src/kube/index.ts"

export const cafes: Kind = {
  gvk: { group: "example.com", version: "v1", kind: "Cafe" },
  plural: "cafes",
  namespaced: true,
}

export const cafe = (name: string, spec: object, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Cafe",
  metadata: { name, namespace: "default", labels },
  spec,
})

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

export const cafeDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "cafes.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "cafes", singular: "cafe", kind: "Cafe", listKind: "CafeList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
        subresources: { status: {} },
      },
    ],
  },
}

export const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}
