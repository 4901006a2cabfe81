/**
 * Keeps web pages from using a visitor's browser to export from a recorder that requires no token (`--auth none`).
 *
 * A page can send a `POST` to any address that its visitor can reach, loopback included, but cannot read the response; a page whose
 * own host name is changed to resolve to 127.0.0.1 (DNS rebinding) can read it too. The browser reveals the former with `Origin` and
 * `Sec-Fetch-Site` and the latter with `Host`, and pages can change none of them. An IP address in `Host` cannot be rebound, so any
 * address is accepted. Other programs can send any headers, but they do not need a page to reach the recorder.
 */
import type { IncomingHttpHeaders } from "node:http"
import { isIP } from "node:net"
import { quoted } from "../../text/index.ts"
import type { Access, Refusal } from "./access.ts"

/** Host names accepted besides `localhost` and IP addresses; `any`: every `Host` is accepted. */
export type OwnNames = ReadonlyArray<string> | "any"

/** The same access, except that requests by pages of other origins are rejected. */
export const withoutForeignPages = (access: Access, ownNames: OwnNames): Access => {
  const names = ownNames === "any" ? undefined : new Set(["localhost", ...ownNames.map(plainName)])
  const otherHost = ({ host }: IncomingHttpHeaders): Refusal | undefined =>
    names === undefined || isOwnHost(host, names) ? undefined : misdirected(host ?? "")
  return {
    otherHost,
    decide: async (headers, action) => {
      const refusal = otherHost(headers)
      if (refusal !== undefined) return refusal
      if (action !== "coverage" && action !== "metrics" && isForeignPage(headers)) return foreign
      return access.decide(headers, action)
    },
    close: () => access.close(),
  }
}

/** Whether `Host` is an IP address or one of the names, and thus not rebound. HTTP/1.0 clients may omit it; browsers never do. */
export const isOwnHost = (host: string | undefined, names: ReadonlySet<string>): boolean => {
  if (host === undefined) return true
  const name = plainName(/^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1] ?? "")
  return isIP(name) !== 0 || names.has(name)
}

/** A host name in its normalised form: `[::1]` → `::1`, `Localhost.` → `localhost`. */
const plainName = (name: string): string =>
  name
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase()

/** Whether a page of another origin makes the request. `none`: the user entered the address. */
export const isForeignPage = (headers: IncomingHttpHeaders): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const { origin, host } = headers
  // Not every browser sends Sec-Fetch-Site to http:// URLs, but all send Origin with a POST.
  return origin !== undefined && URL.parse(origin)?.host !== URL.parse(`http://${host ?? ""}`)?.host
}

const misdirected = (host: string): Refusal => ({
  tag: "refused",
  status: 421,
  message:
    `the host name ${quoted(host)} is not allowed: without --auth this recorder accepts localhost, IP addresses and names given with ` +
    "--allow-host, so that web pages cannot reach it through DNS rebinding",
})

const foreign: Refusal = {
  tag: "refused",
  status: 403,
  message: "this recorder requires no token, so it rejects exports requested by web pages of other origins",
}
