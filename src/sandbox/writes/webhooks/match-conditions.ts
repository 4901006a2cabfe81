/**
 * `matchConditions` of a webhook: it is called only if all of them are true. A condition that fails counts like a webhook that does not
 * answer, unless another one is false.
 */

import { type Failure, fail, groupDetail } from "../../../apiserver/answers/failure.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { qualifiedName } from "../../../apiserver/kinds/resources.ts"
import { Meter } from "../../cel/meter.ts"
import { CostLimitError, EvaluationError } from "../../cel/problems.ts"
import type { Program } from "../../cel/program.ts"
import type { Value } from "../../cel/values.ts"
import { dynamicValue } from "../../schema/validations/schema-values.ts"
import { requestIn } from "./admission-review.ts"
import { type AdmissionAttributes, asView } from "./matching.ts"
import type { Webhook } from "./webhook.ts"

/** In the units of a meter, for all conditions of a webhook together; what the API server allows. */
const budget = 2_500_000

/** Whether a webhook is to be called as `view`, or why the request is refused instead. */
export const meetsConditions = (
  webhook: Webhook,
  attributes: AdmissionAttributes,
  view: Resource,
): boolean | Failure => {
  if (webhook.conditions.length === 0) return true
  const variables = variablesOf(attributes, view)
  const problems: string[] = []
  let left = budget
  for (const { expression, program } of webhook.conditions) {
    const meter = new Meter()
    const outcome = attempt(program, variables, meter)
    left -= meter.cost
    if (left < 0) {
      problems.push(outOfBudget)
      break
    }
    if (outcome === false) return false
    if (outcome instanceof Error) problems.push(`expression '${expression}' resulted in error: ${outcome.message}`)
  }
  if (problems.length === 0) return true
  return webhook.isFailureIgnored ? false : forbiddenBy(problems, attributes)
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

const attempt = (
  program: Program,
  variables: Readonly<Record<string, Value>>,
  meter: Meter,
): Value | EvaluationError | CostLimitError => {
  try {
    return program.run(variables, meter)
  } catch (error) {
    if (error instanceof EvaluationError || error instanceof CostLimitError) return error
    throw error
  }
}

const variablesOf = (attributes: AdmissionAttributes, view: Resource): Readonly<Record<string, Value>> => {
  const { object, oldObject, resource } = attributes
  const shown = (state: typeof object): Value => dynamicValue(asView(state, attributes, resource, view) ?? null)
  return {
    object: shown(object),
    oldObject: shown(oldObject),
    request: dynamicValue(requestIn(attributes, view)),
    namespaceObject: null,
  }
}

const forbiddenBy = (problems: ReadonlyArray<string>, { resource, name }: AdmissionAttributes): Failure => {
  const all = problems.length === 1 ? String(problems[0]) : `[${problems.join(", ")}]`
  return fail(403, `${qualifiedName(resource)} ${JSON.stringify(name)} is forbidden: ${all}`, {
    reason: "Forbidden",
    details: { ...(name !== "" && { name }), ...groupDetail(resource), kind: resource.plural },
  })
}
