/**
 * The kinds every sandbox serves from its start, described as Kubernetes 1.34.4 does in discovery (short names,
 * categories, subresources) and in bookmarks (zero values).
 *
 * The groups stand in the order in which the real server lists them; a kind that is a view of another one stands after
 * it.
 */

import { appsResources } from "./builtin/apps.ts"
import { coreResources } from "./builtin/core.ts"
import {
  apiextensionsResources,
  autoscalingResources,
  batchResources,
  coordinationResources,
  eventsResources,
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
  ...policyResources,
  ...rbacResources,
  ...storageResources,
  ...apiextensionsResources,
  ...schedulingResources,
  ...coordinationResources,
]
