/** The kinds of batch, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf, podTemplate } from "./kinds-of.ts"

const { namespaced } = kindsOf("batch", "v1")

export const batchResources: ReadonlyArray<Resource> = [
  namespaced("CronJob", "cronjobs", {
    shortNames: ["cj"],
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{${podTemplate}}}},"status":{}`,
  }),
  namespaced("Job", "jobs", {
    categories: ["all"],
    subresources: ["status"],
    zeroValue: `"spec":{${podTemplate}},"status":{}`,
  }),
]
