/** Which failures are worth a line in the log: each kind and status once, until that kind is answered again. */

import { parseGvk } from "../../kube/gvk.ts"
import { groupVersionPath } from "../../kube/kind.ts"
import type { OwnerQuestion } from "../../wire/owner-messages.ts"
import type { LookUpFailure } from "./look-up-queue.ts"

export class FailureAlarms {
  readonly #said = new Map<string, number>()

  /** The line, or `undefined` if it was said already. */
  failed(question: OwnerQuestion, failure: LookUpFailure): string | undefined {
    if (this.#said.get(question.gvk) === failure.code) return undefined
    this.#said.set(question.gvk, failure.code)
    return `owner ${question.gvk} ${question.namespace}/${question.name} cannot be looked up: ${failure.detail}${advice(question, failure)}`
  }

  answered(question: OwnerQuestion): void {
    this.#said.delete(question.gvk)
  }
}

const advice = ({ gvk }: OwnerQuestion, { code }: LookUpFailure): string => {
  const parsed = parseGvk(gvk)
  if (code !== 403 || parsed === undefined) return ""
  const rule = `{apiGroups: ["${parsed.group}"], resources: [the resource of ${parsed.kind} in ${groupVersionPath(parsed)}], verbs: ["get"]}`
  return `; without it objects owned through this kind cannot be told from others: add ${rule} to a role of this user`
}
