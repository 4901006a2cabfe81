/**
 * Parses and matches field selectors: `metadata.name=web,status.phase!=Running`. Accepts what the API server accepts (k8s.io/apimachinery,
 * package fields): terms end at commas, a backslash escapes `,`, `=` and itself. Which fields a kind can be selected by only its server knows.
 */

export interface FieldRequirement {
  /** `metadata.name`, `spec.nodeName`. */
  readonly field: string
  /** False: `!=`. */
  readonly isEqual: boolean
  readonly value: string
}

/** Why a text is no selector, on one line. */
interface FieldSelectorProblem {
  readonly problem: string
  /** The same in the words of the API server. */
  readonly serverText: string
}

/** The requirements, all of which must hold; the empty string has none. Empty terms are skipped, as the server skips them. */
export const parseFieldSelector = (text: string): ReadonlyArray<FieldRequirement> | FieldSelectorProblem => {
  const requirements: FieldRequirement[] = []
  for (const term of fieldSelectorTerms(text)) {
    if (term === "") continue
    const [, field = "", operator = "", written = ""] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    if (operator === "") {
      const problem = `${JSON.stringify(term)} is not FIELD=VALUE or FIELD!=VALUE`
      return { problem, serverText: `invalid selector: '${text}'; can't understand '${term}'` }
    }
    const [wrong] = written.replaceAll(/\\[\\,=]/g, "").match(/\\.?|[,=]/su) ?? []
    if (wrong !== undefined) {
      const problem = `in the value ${JSON.stringify(written)} a comma, "=" or backslash is not escaped properly`
      const fault = wrong.startsWith("\\")
        ? `invalid escape sequence: ${wrong}`
        : `unescaped character in value: ${wrong.codePointAt(0)}`
      return { problem, serverText: `invalid field selector: ${fault}` }
    }
    requirements.push({ field, isEqual: operator !== "!=", value: written.replaceAll(/\\([\\,=])/g, "$1") })
  }
  return requirements
}

/** The texts between the commas that no backslash escapes. */
export const fieldSelectorTerms = (text: string): ReadonlyArray<string> => text.split(/,(?<=(?<!\\)(?:\\\\)*,)/)

/** Whether all requirements hold. `textOf`: the field of an object as text, empty if it has none. */
export const matchesFields = <Requirement extends FieldRequirement>(
  selector: ReadonlyArray<Requirement>,
  textOf: (requirement: Requirement) => string,
): boolean => selector.every((requirement) => (textOf(requirement) === requirement.value) === requirement.isEqual)

/** The name that a selector requires; empty for any number of names, and for what is no selector. */
export const selectedName = (text: string): string => {
  const selector = parseFieldSelector(text)
  if ("problem" in selector) return ""
  return selector.find(({ field, isEqual }) => field === "metadata.name" && isEqual)?.value ?? ""
}
