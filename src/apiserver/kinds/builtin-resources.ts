/**
 * The kinds every sandbox serves from its start, described as Kubernetes 1.34.4 does in discovery (short names,
 * categories, subresources) and in bookmarks (zero values).
 *
 * The groups stand in the order in which the real server lists them; a kind that is a view of another one stands after
 * it.
 */

import { apiextensionsResources } from "./builtin/apiextensions.ts"
import { appsResources } from "./builtin/apps.ts"
import { autoscalingResources } from "./builtin/autoscaling.ts"
import { batchResources } from "./builtin/batch.ts"
import { coordinationResources } from "./builtin/coordination.ts"
import { coreResources } from "./builtin/core.ts"
import { eventsResources } from "./builtin/events.ts"
import { policyResources } from "./builtin/policy.ts"
import { rbacResources } from "./builtin/rbac.ts"
import { reviewResources } from "./builtin/reviews.ts"
import { schedulingResources } from "./builtin/scheduling.ts"
import { storageResources } from "./builtin/storage.ts"
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
