/**
 * The kinds that every sandbox serves from its start, described as Kubernetes 1.34.4 describes them in discovery
 * (short names, categories, subresources) and in bookmarks (zero values).
 *
 * The groups are in the real server's order; a kind that is a view of another one comes after it.
 */

import { appsResources } from "./builtin/apps.ts"
import {
  addressResources,
  admissionPolicyResources,
  certificatesResources,
  deviceResources,
  flowControlResources,
  nodeResources,
} from "./builtin/cluster-groups.ts"
import { coreResources } from "./builtin/core.ts"
import {
  admissionResources,
  apiextensionsResources,
  autoscalingResources,
  batchResources,
  coordinationResources,
  endpointSliceResources,
  eventsResources,
  networkingResources,
  policyResources,
  rbacResources,
  reviewResources,
  schedulingResources,
  storageResources,
} from "./builtin/small-groups.ts"
import type { Resource } from "./resources.ts"

export const builtinResources: ReadonlyArray<Resource> = [
  ...coreResources,
  ...appsResources,
  ...eventsResources,
  ...reviewResources,
  ...autoscalingResources,
  ...batchResources,
  ...certificatesResources,
  ...networkingResources,
  ...addressResources,
  ...policyResources,
  ...rbacResources,
  ...storageResources,
  ...admissionResources,
  ...admissionPolicyResources,
  ...apiextensionsResources,
  ...schedulingResources,
  ...coordinationResources,
  ...nodeResources,
  ...endpointSliceResources,
  ...deviceResources,
  ...flowControlResources,
]
