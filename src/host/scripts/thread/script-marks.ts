/**
 * The mark in the URLs of a script and of what it imports from beside it: `simplepod.ts?simplepod=HASH`.
 *
 * Node keeps a module for each URL, so a script that is replaced is loaded anew with all that it imports relatively, and no two scripts share such a module.
 * Stacks have the URLs, so they tell which script of a thread something happened in.
 */

/** Nothing else in a text looks like it: 64 hexadecimal digits. */
const mark = /\?([^\s?=]+)=[0-9a-f]{64}/

/** Appends a mark to a URL. `hash`: 64 hexadecimal digits. */
export const marked = (url: string, module: string, hash: string): string => `${url}?${module}=${hash}`

/** The mark of a URL, with its question mark; `undefined` for one that has none. */
export const markOf = (url: string): string | undefined => mark.exec(url)?.[0]

/** The scripts that a text with URLs names, such as the stack of an error. */
export const scriptsNamedIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(new RegExp(mark, "g"))].map(([, module = ""]) => module))

/** For people. */
export const withoutMarks = (text: string): string => text.replaceAll(new RegExp(mark, "g"), "")
