/**
 * A decoded object against the type of its kind: values of the wrong type are refused, unknown and repeated fields are
 * refused or warned of as the client wishes, and unknown ones are dropped.
 */

import { badRequest } from "../failure.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import {
  decodeFailure,
  pruneUnknownFields,
  strictFailure,
  strictFieldProblems,
  unknownFields,
} from "../schema/field-check.ts"
import { refuse } from "./refusal.ts"
import type { WritableKind } from "./surroundings.ts"
import type { WriteOptions } from "./write-options.ts"

/** `text` is the JSON the object came as; the empty string if it came as something else. Throws Refusal. */
export const checkFields = (
  { resource, type }: WritableKind,
  object: MutableObject,
  text: string,
  { fieldValidation, warnings }: WriteOptions,
): void => {
  const misfit = decodeFailure(resource.gvk, type, object)
  if (misfit !== undefined) refuse(badRequest(misfit))
  const isClean = unknownFields(type, object).length === 0
  if (isClean && (fieldValidation === "Ignore" || (fieldValidation === "Warn" && !mayRepeat(text, object)))) return
  const problems = fieldValidation === "Ignore" ? [] : strictFieldProblems(type, text, object)
  if (fieldValidation === "Strict" && problems.length > 0) refuse(badRequest(strictFailure(resource.gvk, problems)))
  pruneUnknownFields(type, object)
  warnings.push(...problems)
}

/**
 * A text without white space that is as long as what was read from it says nothing twice, some contrived ones aside, of which
 * nobody will be warned. Far cheaper than to look.
 */
const mayRepeat = (text: string, object: MutableObject): boolean =>
  text !== "" && text.trimEnd().length !== JSON.stringify(object).length
