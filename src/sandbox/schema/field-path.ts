/**
 * The position of a value in an object: a chain from the leaf to the root, so that descending costs little and only a
 * problem pays for the text. Texts are the server's: `spec.containers[0].name`.
 */

export interface FieldPath {
  readonly parent: FieldPath | undefined
  /** A field's name or a list index. */
  readonly step: string | number
}

/** `step` below `path`, or alone if there is no path. */
export const formatFieldPath = (path: FieldPath | undefined, step?: string | number): string => {
  const steps: Array<string | number> = step === undefined ? [] : [step]
  for (let at = path; at !== undefined; at = at.parent) steps.push(at.step)
  let text = ""
  for (const next of steps.reverse()) {
    if (typeof next === "number") text += `[${next}]`
    else text += text === "" ? next : `.${next}`
  }
  return text
}
