/** The behaviour of every kind the sandbox serves: {@link rulesOf} for built-in and custom ones. */

import type { Resource } from "../../apiserver/kinds/resources.ts"
import { rulesFrom } from "./groups/generic-rules.ts"
import type { Kind } from "./kind.ts"
import type { KindRules } from "./kind-rules.ts"
import { kinds } from "./kinds.ts"

export { type AdmissionSurroundings, admitCreate, admitUpdate } from "./admission.ts"
export { invalidObject } from "./invalid-object.ts"
export type {
  Fields,
  KindRules,
  MutableObject,
  Subresource,
} from "./kind-rules.ts"
export { allocateService, type Pool, releaseService, type ServicePools } from "./services/service-allocation.ts"

/** The description of a custom kind. A change of anything but metadata and, if it has that endpoint, status is a new generation. */
const customKind = (resource: Resource): Kind =>
  resource.subresources?.includes("status") === true
    ? {
        generation: ["*"],
        keepsStatus: true,
        prepareCreate: (object) => {
          delete object.status
        },
        statusKeeps: ["labels", "annotations", "finalizers", "ownerReferences"],
        unconditionalUpdate: false,
      }
    : { generation: ["*", "status"], unconditionalUpdate: false }

const kindOf = (resource: Resource): Kind => {
  if (resource.custom === true) return customKind(resource)
  const { group, version, kind } = resource.gvk
  return kinds.get(`${group}/${kind}`) ?? kinds.get(`${group}/${version}/${kind}`) ?? {}
}

const made = new WeakMap<Resource, KindRules>()

/** Kinds without their own rules get the generic ones. The same resource always gives the same rules. */
export const rulesOf = (resource: Resource): KindRules => {
  const known = made.get(resource)
  if (known !== undefined) return known
  const rules = rulesFrom(kindOf(resource), {
    namespaced: resource.namespaced,
    custom: resource.custom === true,
  })
  made.set(resource, rules)
  return rules
}

/**
 * Whether an update may omit `metadata.resourceVersion` and overwrite any state. If it may not, the response is a
 * 422: `metadata.resourceVersion: Invalid value: 0: must be specified for an update`.
 */
export const allowsUnconditionalUpdate = (resource: Resource): boolean => kindOf(resource).unconditionalUpdate !== false
