/** All cases. */

import { batchCases } from "./batch-cases.ts"
import { changeCases } from "./change-cases.ts"
import { comparedCases } from "./compared-cases.ts"
import { coreCases } from "./core-cases.ts"
import { definitionCases, restCases } from "./other-cases.ts"
import { podCases } from "./pod-cases.ts"
import { refusedPodCases } from "./refused-pod-cases.ts"
import type { RulesCase } from "./rules-case.ts"
import { serviceCases } from "./service-cases.ts"
import { moreWorkloadCases, workloadCases } from "./workload-cases.ts"

export const rulesCases: ReadonlyArray<RulesCase> = [
  ...podCases,
  ...refusedPodCases,
  ...workloadCases,
  ...moreWorkloadCases,
  ...batchCases,
  ...serviceCases,
  ...coreCases,
  ...restCases,
  ...definitionCases,
  ...changeCases,
  ...comparedCases,
]
