/** Checks that a page is well-formed, closed in itself, and runs nothing: a reader of the little HTML that we write, which refuses all else. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

const elements = words(
  "html head meta title style body main header nav section h1 h2 h3 p a b br time details summary div span table thead tbody tr th td ul li code del ins svg g use line rect text",
)
const attributes = words(
  "lang charset http-equiv content name class id href title open scope data-label datetime role aria-label aria-labelledby aria-hidden x y dx x1 x2 y1 y2 rx width height fill stroke opacity stroke-opacity stroke-width font-size text-anchor pointer-events",
)
/** Elements without content. */
const empty = words("meta br")
/** Elements after whose text a reader sees the next text apart from it. */
const apart = words("td summary li h1 h2 h3 p div span text time a")

/** Throws what is wrong; returns the text of the page as a reader sees it, one line for each row. */
export const checkPage = (page: string): string => {
  check(page.startsWith("<!doctype html>\n") && page.endsWith("</html>\n"), "it is not one page")
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are looked for.
  const hasControls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(page)
  check(!hasControls && page.isWellFormed(), "control characters")
  const open: string[] = []
  const ids = new Set<string>()
  const targets: string[] = []
  let text = ""
  for (const [token] of page.slice("<!doctype html>\n".length).matchAll(/<[^<>]*>|[^<]+|</g)) {
    const tag = /^<(\/?)([a-z0-9]+)((?: [a-z0-9-]+(?:="[^"<>]*")?)*)(\/?)>$/.exec(token)
    if (tag === null) {
      check(!token.includes("<"), `a "<" that begins no tag: ${token.slice(0, 60)}`)
      if (open.at(-1) === "style") continue
      check(/^(?:[^&>]|&(?:amp|lt|gt|quot|#39);)*$/.test(token), `text that is not escaped: ${token.slice(0, 60)}`)
      // What is shown of a bar when it is pointed at.
      if (!(open.at(-1) === "title" && open.includes("svg"))) text += unescaped(token)
      continue
    }
    const [, end = "", name = "", said = "", selfClosed = ""] = tag
    check(elements.has(name), `an element ${name}`)
    for (const [, attribute = "", value = ""] of said.matchAll(/ ([a-z0-9-]+)(?:="([^"]*)")?/g)) {
      check(attributes.has(attribute), `an attribute ${attribute}`)
      check(attribute !== "href" || /^#[a-z0-9-]+$/.test(value), `a link to ${value}`)
      if (attribute === "href") targets.push(value.slice(1))
      if (attribute !== "id") continue
      check(!ids.has(value), `two elements with the id ${value}`)
      ids.add(value)
    }
    if (empty.has(name) || selfClosed !== "") continue
    if (end === "") open.push(name)
    else check(open.pop() === name, `</${name}> closes nothing`)
    if (end !== "" && apart.has(name)) text += " "
  }
  check(open.length === 0, `${open.join(", ")} are not closed`)
  for (const target of targets) check(ids.has(target), `a link to #${target}, which is not there`)
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
