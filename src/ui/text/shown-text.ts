/** Text from a cluster as it is shown: anyone who may create an object chooses names, and a name must not look like another one, or take the whole screen. */

/** Characters of a name that are shown. Names of Kubernetes have at most 253. */
const longest = 300

/** Control characters, and those that turn the direction of text, as their code points; the rest is cut. */
export const visible = (text: string, most = longest): string => {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.toWellFormed().replace(hidden, (character) => `⟨${character.codePointAt(0)?.toString(16).toUpperCase()}⟩`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
const hidden = /[\u0000-\u001F\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/g

/** `apps/v1.Deployment` as `Deployment`. */
export const kindOf = (gvk: string): string => gvk.slice(gvk.lastIndexOf(".") + 1)
