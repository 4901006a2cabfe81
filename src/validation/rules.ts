/** All rules, in the order of their numbers. */
import type { Rule } from "./rule.ts"
import { environmentConfigMapMissing } from "./rules/environment-config-map-missing.ts"
import { environmentSecretMissing } from "./rules/environment-secret-missing.ts"
import { identityMissing } from "./rules/identity-missing.ts"
import { imagePullSecretMissing } from "./rules/image-pull-secret-missing.ts"
import { kindUndefined } from "./rules/kind-undefined.ts"
import { nameTooLong } from "./rules/name-too-long.ts"
import { namespaceMissing } from "./rules/namespace-missing.ts"
import { ownerMissing } from "./rules/owner-missing.ts"
import { priorityClassMissing } from "./rules/priority-class-missing.ts"
import { runtimeClassMissing } from "./rules/runtime-class-missing.ts"
import { serviceAccountMissing } from "./rules/service-account-missing.ts"
import { statusPopulated } from "./rules/status-populated.ts"
import { storageClassMissing } from "./rules/storage-class-missing.ts"
import { templatePathMissing } from "./rules/template-path-missing.ts"
import { volumeClaimMissing } from "./rules/volume-claim-missing.ts"
import { volumeConfigMapMissing } from "./rules/volume-config-map-missing.ts"
import { volumeSecretMissing } from "./rules/volume-secret-missing.ts"

/** The rules that a trace is checked against. */
export const rules: ReadonlyArray<Rule> = [
  statusPopulated,
  serviceAccountMissing,
  environmentSecretMissing,
  environmentConfigMapMissing,
  volumeSecretMissing,
  volumeConfigMapMissing,
  volumeClaimMissing,
  imagePullSecretMissing,
  namespaceMissing,
  kindUndefined,
  ownerMissing,
  priorityClassMissing,
  storageClassMissing,
  runtimeClassMissing,
  nameTooLong,
  templatePathMissing,
  identityMissing,
]

/** By code or name, in any letter case; `undefined`: there is none. */
export const ruleNamed = (text: string): Rule | undefined => {
  const wanted = text.toLowerCase()
  return rules.find(({ code, name }) => code.toLowerCase() === wanted || name === wanted)
}
