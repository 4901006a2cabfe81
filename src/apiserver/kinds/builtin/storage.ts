/** The kinds of storage.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { namespaced, clusterScoped } = kindsOf("storage.k8s.io", "v1")

export const storageResources: ReadonlyArray<Resource> = [
  clusterScoped("CSIDriver", "csidrivers", { zeroValue: '"spec":{}' }),
  clusterScoped("CSINode", "csinodes", { zeroValue: '"spec":{"drivers":null}' }),
  namespaced("CSIStorageCapacity", "csistoragecapacities", { zeroValue: '"storageClassName":""' }),
  clusterScoped("StorageClass", "storageclasses", { shortNames: ["sc"], zeroValue: '"provisioner":""' }),
  clusterScoped("VolumeAttachment", "volumeattachments", {
    subresources: ["status"],
    zeroValue: '"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}',
  }),
  clusterScoped("VolumeAttributesClass", "volumeattributesclasses", {
    shortNames: ["vac"],
    storageVersion: "v1beta1",
    zeroValue: '"driverName":""',
  }),
]
