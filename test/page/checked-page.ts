/** Checks that a page in one file runs nothing but its own script, and loads nothing. */

import { hash } from "node:crypto"

/** Element by element. A script of data is one that no browser runs. */
const scripts = /<script( [^<>]*)?>([\s\S]*?)<\/script>/g

/** Throws what is wrong; returns the data of the element `#source`. */
export const checkPage = (page: string): unknown => {
  check(page.startsWith("<!doctype html>\n") && page.endsWith("</html>\n"), "it is not one page")
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? ""
  check(policy.startsWith("default-src 'none'; "), `the policy ${policy}`)
  const found = [...page.matchAll(scripts)].map(([, attributes = "", text = ""]) => ({ attributes, text }))
  const [code, ...others] = found.filter(
    ({ attributes }) => !/^ type="application\/(?:json|octet-stream)"/.test(attributes),
  )
  check(code !== undefined && others.length === 0, `${others.length} more scripts than one`)
  check(policy.includes(`script-src ${hashOf(code?.text ?? "")};`), "the policy does not allow its script")
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ""
  check(policy.includes(`style-src ${hashOf(style)};`), "the policy does not allow its style")
  const frame = page.replaceAll(scripts, "").replace(/<style>[\s\S]*?<\/style>/, "")
  const tags = [...frame.matchAll(/<\/?([a-z!]+)/g)].map(([, name]) => name).join(" ")
  check(
    tags === "!doctype html head meta meta meta meta title title head body div div noscript noscript body html",
    `other elements: ${tags}`,
  )
  const source = found.find(({ attributes }) => attributes.includes('id="source"'))?.text ?? "null"
  check(!source.includes("<"), "the data could end its element")
  return JSON.parse(source)
}

const hashOf = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`

const check = (isTrue: boolean, problem: string): void => {
  if (!isTrue) throw new Error(`the page: ${problem}`)
}
