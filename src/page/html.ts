/**
 * HTML that cannot be broken out of: what is put into a template is escaped, unless it is HTML already.
 *
 * Names, messages and labels come from clusters, where anyone who may create an object chooses them.
 */

/** A piece of HTML. Only {@link html} makes it from text. */
class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

type Part = Html | string | number | undefined | false | ReadonlyArray<Html>

/** `` html`<b title="${title}">${text}</b>` ``. Attributes must be in double quotes. `undefined` and `false` are nothing. */
export const html = (literals: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html =>
  new Html(literals.map((literal, index) => literal + textOf(parts[index])).join(""))

/**
 * Text as HTML, for elements and for attributes in double quotes. Control characters that HTML does not allow become U+FFFD, and so do those that
 * turn the direction of text: with them a name looks like another one.
 */
export const escaped = (text: string): string =>
  text
    .replace(controls, "\uFFFD")
    .replace(/[&<>"']/g, (character) => entities[character] ?? "")
    .toWellFormed()

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
const controls = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

const textOf = (part: Part): string => {
  if (part === undefined || part === false) return ""
  if (part instanceof Html) return String(part)
  if (typeof part === "object") return part.join("")
  return escaped(String(part))
}
