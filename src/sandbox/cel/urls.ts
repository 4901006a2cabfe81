/** `url()`: absolute URLs and absolute paths, taken apart as Go's `net/url` does. */

import { fail } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { Opaque } from "./values.ts"

interface Parts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

class Url extends Opaque<Parts> {}

const type = "kubernetes.URL"
const form = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/s
/** A host with an optional port; IPv6 addresses in brackets. */
const authority = /^(?:[^@]*@)?((\[[^\]]*\]|[^:[\]]*)(?::(\d*))?)$/

const parse = (text: string): Url | undefined => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses them.
  if (text === "" || /[\x00-\x1f\x7f]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) return undefined
  const [, scheme = "", place, path = "", query = ""] = form.exec(text) ?? []
  if (scheme === "" && (place !== undefined ? !text.startsWith("//") : !path.startsWith("/"))) return undefined
  const [, host = ""] = place === undefined ? [] : (authority.exec(place) ?? [])
  if (place !== undefined && (!authority.test(place) || /[ <>"]/.test(host))) return undefined
  return new Url(text, { scheme: scheme.toLowerCase(), host, path, query })
}

const hostname = ({ data: { host } }: Url): string => (authority.exec(host)?.[2] ?? "").replace(/^\[|\]$/g, "")
const port = ({ data: { host } }: Url): string => authority.exec(host)?.[3] ?? ""

const escapedPath = ({ data: { scheme, host, path } }: Url): string =>
  // Of `mailto:someone`, there is no path.
  scheme !== "" && host === "" && !path.startsWith("/")
    ? ""
    : path.replace(/[ "<>\\^`{|}]|[^\x20-\x7e]/gu, encodeURIComponent)

const queryOf = ({ data: { query } }: Url): ReadonlyMap<string, ReadonlyArray<string>> => {
  const values = new Map<string, string[]>()
  for (const [key, value] of new URLSearchParams(query)) values.set(key, [...(values.get(key) ?? []), value])
  return values
}

const urlIn = (text: string): Url =>
  parse(text) ??
  fail(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`)

export const urls: Extension = {
  types: { [type]: Url },
  functions: [
    [`url(string): ${type}`, urlIn],
    ["isURL(string): bool", (text: string) => parse(text) !== undefined],
    [`${type}.getScheme(): string`, (url: Url) => url.data.scheme],
    [`${type}.getHost(): string`, (url: Url) => url.data.host],
    [`${type}.getHostname(): string`, hostname],
    [`${type}.getPort(): string`, port],
    [`${type}.getEscapedPath(): string`, escapedPath],
    [`${type}.getQuery(): map<string, list<string>>`, queryOf],
  ],
}
