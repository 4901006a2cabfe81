/** The kinds of apiextensions.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { clusterScoped } = kindsOf("apiextensions.k8s.io", "v1")

export const apiextensionsResources: ReadonlyArray<Resource> = [
  clusterScoped("CustomResourceDefinition", "customresourcedefinitions", {
    shortNames: ["crd", "crds"],
    storageVersion: "v1beta1",
    categories: ["api-extensions"],
    subresources: ["status"],
    zeroValue:
      '"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}',
  }),
]
