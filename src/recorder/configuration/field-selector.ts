/**
 * Field selectors (`metadata.name=web,status.phase!=Failed`): the same syntax check the API server makes
 * (k8s.io/apimachinery, package fields). Only the server knows which fields a kind supports; it returns 400 for others.
 */
import { quoted } from "./quoted.ts"

/** Why `text` is not a field selector, as part of a sentence; `undefined` if it is one. An empty text is rejected. */
export const fieldSelectorFault = (text: string): string | undefined => {
  if (text.trim() === "") return "it is empty"
  for (const term of splitTerms(text)) {
    if (term.trim() === "") return "a condition is missing before or after a comma"
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
