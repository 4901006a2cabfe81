/** `url()`: absolute URLs and absolute paths, taken apart as Go's `net/url` does. */

import { reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { List, Mapping, Opaque, sizeOf, type Value } from "../values.ts"

interface Parts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

type Url = Opaque<Parts>

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
  const parts = { scheme: scheme.toLowerCase(), host, path, query }
  return new Opaque(type, text, parts)
}

const hostname = ({ data: { host } }: Url): string => (authority.exec(host)?.[2] ?? "").replace(/^\[|\]$/g, "")
const port = ({ data: { host } }: Url): string => authority.exec(host)?.[3] ?? ""

const escapedPath = ({ data: { scheme, host, path } }: Url): string =>
  // Of `mailto:someone`, there is no path.
  scheme !== "" && host === "" && !path.startsWith("/")
    ? ""
    : path.replace(/[ "<>\\^`{|}]|[^\x20-\x7e]/gu, encodeURIComponent)

const queryOf = ({ data: { query } }: Url): Mapping => {
  const values = new Map<string, string[]>()
  for (const [key, value] of new URLSearchParams(query)) values.set(key, [...(values.get(key) ?? []), value])
  return Mapping.of(new Map([...values].map(([key, all]) => [key, new List(all)])))
}

const read = ([text]: ReadonlyArray<Value>): number => reading(sizeOf(text))

export const urls: ReadonlyArray<Overload> = [
  overload<[string]>(
    `url(string) -> ${type}`,
    ([text]) =>
      parse(text) ??
      fail(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`),
    read,
  ),
  overload<[string]>("isURL(string) -> bool", ([text]) => parse(text) !== undefined),
  overload<[Url]>(`${type}::getScheme() -> string`, ([url]) => url.data.scheme),
  overload<[Url]>(`${type}::getHost() -> string`, ([url]) => url.data.host),
  overload<[Url]>(`${type}::getHostname() -> string`, ([url]) => hostname(url)),
  overload<[Url]>(`${type}::getPort() -> string`, ([url]) => port(url)),
  overload<[Url]>(`${type}::getEscapedPath() -> string`, ([url]) => escapedPath(url)),
  overload<[Url]>(`${type}::getQuery() -> map(string, list(string))`, ([url]) => queryOf(url)),
]
