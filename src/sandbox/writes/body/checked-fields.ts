/**
 * Checks a decoded object against the type of its kind: values of the wrong type are refused, unknown and duplicate
 * fields are refused or warned about as the client requests, and unknown ones are dropped.
 */

import type { MutableObject } from "../../rules/kind-rules.ts"
import { pruneUnknownFields, strictFieldProblems, undecodable, unknownFields } from "../../schema/field-check.ts"
import { asGoWrites } from "../../schema/go-written.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { refuse } from "../refusal.ts"
import type { WritableKind } from "../surroundings.ts"
import type { WriteOptions } from "../write-options.ts"
import { type BodyText, notOfKind, strictly } from "./body.ts"

/** `text` is the body of the request. Changes the object to what Go would write. Throws Refusal. */
export const checkFields = (
  { resource, type }: WritableKind,
  object: MutableObject,
  text: BodyText,
  { fieldValidation, warnings }: WriteOptions,
): void => {
  const misfit = undecodable(type, object)
  if (misfit !== undefined) refuse(notOfKind(resource.gvk, misfit))
  const { json, mayRepeat, repeated } = text
  const isClean = unknownFields(type, object).length === 0
  const mayWarn = fieldValidation === "Strict" || mayRepeat || repeated.length > 0
  if (!isClean || (fieldValidation !== "Ignore" && mayWarn)) {
    const problems = fieldValidation === "Ignore" ? [] : strictFieldProblems(type, json, object)
    if (fieldValidation === "Strict" && problems.length + repeated.length > 0)
      refuse(notOfKind(resource.gvk, strictly([...repeated, ...problems])))
    pruneUnknownFields(type, object)
    if (fieldValidation !== "Ignore") warnings.push(...repeated, ...problems)
  }
  writeAsGo(type, object)
}

/** In place: the object has just been decoded and belongs to the caller. */
const writeAsGo = (type: KubernetesType, object: MutableObject): void => {
  const written = asGoWrites(type, object) as MutableObject
  if (written === object) return
  for (const key of Object.keys(object)) if (!Object.hasOwn(written, key)) delete object[key]
  Object.assign(object, written)
}
