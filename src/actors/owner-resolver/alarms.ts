/** Decides which failures to log: each kind and status once, until a look-up of that kind succeeds again. */

import { parseGvk } from "../../kube/gvk.ts"
import { groupVersionPath } from "../../kube/kind.ts"
import type { OwnerQuestion } from "../../wire/owner-messages.ts"
import type { LookUpFailure } from "./look-up-queue.ts"

export class FailureAlarms {
  readonly #logged = new Map<string, number>()

  /** The line, or `undefined` if it was logged already. */
  failed(question: OwnerQuestion, failure: LookUpFailure): string | undefined {
    if (this.#logged.get(question.gvk) === failure.code) return undefined
    this.#logged.set(question.gvk, failure.code)
    return `owner ${question.gvk} ${question.namespace}/${question.name} cannot be looked up: ${failure.detail}${advice(question, failure)}`
  }

  answered(question: OwnerQuestion): void {
    this.#logged.delete(question.gvk)
  }
}

const advice = ({ gvk }: OwnerQuestion, { code }: LookUpFailure): string => {
  const parsed = parseGvk(gvk)
  if (code !== 403 || parsed === undefined) return ""
  const rule = `{apiGroups: ["${parsed.group}"], resources: [the resource of ${parsed.kind} in ${groupVersionPath(parsed)}], verbs: ["get"]}`
  return `; without it, objects owned through this kind cannot be recognised: add ${rule} to a role of this user`
}
