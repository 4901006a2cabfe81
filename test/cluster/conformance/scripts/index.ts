/** All request scripts. */

import type { Script } from "../script.ts"
import { accessAndPolicies } from "./access-and-policies.ts"
import { admissionWebhooks } from "./admission-webhooks.ts"
import { applying } from "./applying.ts"
import { badBodies } from "./bad-bodies.ts"
import { badNames } from "./bad-names.ts"
import { badQueries } from "./bad-queries.ts"
import { clusterGroups } from "./cluster-groups.ts"
import { customObjects } from "./custom-objects.ts"
import { definitionScripts } from "./definitions.ts"
import { deleting } from "./deleting.ts"
import { discovering } from "./discovering.ts"
import { fieldValidation } from "./field-validation.ts"
import { generationsAndScales } from "./generations-and-scales.ts"
import { leasesAndEvents } from "./leases-and-events.ts"
import { namespaces } from "./namespaces.ts"
import { networkingKinds } from "./networking-kinds.ts"
import { patching } from "./patching.ts"
import { podAdmission } from "./pod-admission.ts"
import { podChanges } from "./pod-changes.ts"
import { reading } from "./reading.ts"
import { servicesAndSecrets } from "./services-and-secrets.ts"
import { statusScripts } from "./statuses.ts"
import { storageKinds } from "./storage-kinds.ts"
import { validationRules } from "./validation-rules.ts"
import { workloadRuleScripts } from "./workload-rules.ts"
import { writing } from "./writing.ts"

/** Those that wait for controllers come first: the others fill the time. */
export const scripts: readonly Script[] = [
  ...namespaces,
  ...customObjects,
  ...definitionScripts,
  ...validationRules,
  ...deleting,
  ...admissionWebhooks,
  ...reading,
  ...writing,
  ...patching,
  ...applying,
  ...badBodies,
  ...badNames,
  ...badQueries,
  ...fieldValidation,
  ...generationsAndScales,
  ...statusScripts,
  ...workloadRuleScripts,
  ...podAdmission,
  ...podChanges,
  ...servicesAndSecrets,
  ...leasesAndEvents,
  ...accessAndPolicies,
  ...storageKinds,
  ...networkingKinds,
  ...clusterGroups,
  ...discovering,
]
