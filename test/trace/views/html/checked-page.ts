/** Checks that a page is well-formed, closed in itself, and runs nothing: a reader of the little HTML that we write, which refuses all else. */

const elements: ReadonlySet<string> = new Set(
  "html head meta title style body h1 h2 p details summary div span table thead tbody tr th td ul li code del ins".split(
    " ",
  ),
)
const attributes: ReadonlySet<string> = new Set(
  "lang charset http-equiv content name class title style open".split(" "),
)

/** Throws what is wrong; returns the text of the page as a reader sees it, one line for each row. */
export const checkPage = (page: string): string => {
  check(page.startsWith("<!doctype html>\n") && page.endsWith("</html>\n"), "it is not one page")
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are looked for.
  check(!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(page) && page.isWellFormed(), "control characters")
  const open: string[] = []
  let text = ""
  for (const [token] of page.slice("<!doctype html>\n".length).matchAll(/<[^<>]*>|[^<]+|</g)) {
    const tag = /^<(\/?)([a-z0-9]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>$/.exec(token)
    if (tag === null) {
      check(!token.includes("<"), `a "<" that begins no tag: ${token.slice(0, 60)}`)
      if (open.at(-1) === "style") continue
      check(/^(?:[^&>]|&(?:amp|lt|gt|quot|#39);)*$/.test(token), `text that is not escaped: ${token.slice(0, 60)}`)
      text += unescaped(token)
      continue
    }
    const [, end = "", name = "", said = ""] = tag
    check(elements.has(name), `an element ${name}`)
    for (const [, attribute = "", value = ""] of said.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)) {
      check(attributes.has(attribute), `an attribute ${attribute}`)
      check(attribute !== "style" || /^[a-z]+:[\d.]+%(;[a-z]+:[\d.]+%)?$/.test(value), `the style ${value}`)
    }
    if (name === "meta") continue
    if (end === "") open.push(name)
    else check(open.pop() === name, `</${name}> closes nothing`)
    if (end !== "" && ["td", "summary", "li"].includes(name)) text += " "
  }
  check(open.length === 0, `${open.join(", ")} are not closed`)
  check(!/url\(|@import|javascript:/i.test(/<style>[^<]*/.exec(page)?.[0] ?? ""), "the style names other resources")
  return text
}

const unescaped = (text: string): string =>
  text.replaceAll(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"' })[name] ?? "'",
  )

const check = (isTrue: boolean, problem: string): void => {
  if (!isTrue) throw new Error(`the page: ${problem}`)
}
