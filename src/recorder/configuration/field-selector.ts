/**
 * Field selectors (`metadata.name=web,status.phase!=Failed`): the same syntax check the API server makes
 * (k8s.io/apimachinery, package fields). Which fields a kind supports only the server knows; it answers 400 for others.
 */
import { quoted } from "./quoted.ts"

/** Why `text` is not a field selector, as a sentence part; `undefined` when it is one. The empty text is refused. */
export const fieldSelectorFault = (text: string): string | undefined => {
  if (text.trim() === "") return "it is empty"
  for (const term of splitTerms(text)) {
    if (term.trim() === "") return "a condition is missing beside a comma"
    const condition = /^((?:\\.|[^\\=!])*)(!=|==|=)((?:\\[\\,=]|[^\\,=])*)$/.exec(term.trim())
    if (condition === null) return `${quoted(term.trim())} is not of the form field=value or field!=value`
    if (!/^[A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z0-9_-]+)*$/.test(condition[1] ?? ""))
      return `${quoted(condition[1] ?? "")} is not a field path such as metadata.name`
  }
  return undefined
}

/** Splits at commas, except those written `\,`. */
const splitTerms = (text: string): string[] => {
  const terms: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "\\") index++
    else if (text[index] === ",") {
      terms.push(text.slice(start, index))
      start = index + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}
