/**
 * Parses field selectors: `metadata.name=web,status.phase!=Running`. Accepts what the API server accepts (k8s.io/apimachinery, package
 * fields): terms end at commas, a backslash escapes `,`, `=` and itself. Which fields a kind can be selected by only its server knows.
 */

export interface FieldRequirement {
  /** `metadata.name`, `spec.nodeName`. */
  readonly field: string
  /** False: `!=`. */
  readonly isEqual: boolean
  readonly value: string
}

/** Why a text is no selector, on one line. */
export interface FieldSelectorProblem {
  readonly problem: string
}

/** The requirements, all of which must hold; the empty string has none. */
export const parseFieldSelector = (text: string): ReadonlyArray<FieldRequirement> | FieldSelectorProblem => {
  const requirements: FieldRequirement[] = []
  for (const term of text.match(/(?:\\.?|[^,\\])+/gs) ?? []) {
    const [, field = "", operator = "", written = ""] = /^([^=!]+)(!=|==|=)(.*)$/s.exec(term) ?? []
    if (operator === "") return { problem: `${JSON.stringify(term)} is not FIELD=VALUE or FIELD!=VALUE` }
    const value = unescaped(written)
    if (value === undefined) {
      return { problem: `in the value ${JSON.stringify(written)} a comma, "=" or backslash is not escaped properly` }
    }
    requirements.push({ field, isEqual: operator !== "!=", value })
  }
  return requirements
}

/** `undefined`: a comma or `=` without a backslash, or a backslash before anything else. */
const unescaped = (written: string): string | undefined =>
  /^(?:\\[\\,=]|[^\\,=])*$/s.test(written) ? written.replaceAll(/\\([\\,=])/g, "$1") : undefined
