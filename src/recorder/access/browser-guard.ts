/**
 * What a web page must not make a browser do to a recorder that asks for no token (`--auth none`).
 *
 * A page can send a `POST` to any address that its visitor reaches, loopback included, though not read the answer; and a page whose
 * own name comes to mean 127.0.0.1 (DNS rebinding) can read it as well. The former says where it comes from (`Origin`,
 * `Sec-Fetch-Site`), the latter by which name it came (`Host`), and pages can change neither. An address in `Host` is nobody's
 * name, so any address is fine. Programs other than browsers send what they like; they need no page to reach the recorder.
 */
import type { IncomingHttpHeaders } from "node:http"
import { isIP } from "node:net"
import { quoted } from "../configuration/quoted.ts"
import type { Access, Refusal } from "./access.ts"

/** Names besides `localhost` and addresses; `any`: whatever `Host` says is fine. */
export type OwnNames = ReadonlyArray<string> | "any"

/** The same access for everybody but web pages of others. */
export const withoutForeignPages = (access: Access, ownNames: OwnNames): Access => {
  const names = ownNames === "any" ? undefined : new Set(["localhost", ...ownNames.map(plainName)])
  return {
    decide: async (headers, action) => {
      if (names !== undefined && !isOwn(headers.host, names)) return misdirected(headers.host ?? "")
      if (action === "export" && isForeign(headers)) return foreign
      return access.decide(headers, action)
    },
    close: () => access.close(),
  }
}

/** HTTP/1.0 may leave it away; browsers never do. */
const isOwn = (host: string | undefined, names: ReadonlySet<string>): boolean => {
  if (host === undefined) return true
  const name = plainName(/^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1] ?? "")
  return isIP(name) !== 0 || names.has(name)
}

/** A name as names are compared: `[::1]` → `::1`, `Localhost.` → `localhost`. */
const plainName = (name: string): string =>
  name
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase()

/** Whether a page of another origin makes the request. `none`: a person, by hand. */
const isForeign = (headers: IncomingHttpHeaders): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const { origin, host } = headers
  // Not sent to http:// by every browser; Origin is, with every POST.
  return origin !== undefined && URL.parse(origin)?.host !== URL.parse(`http://${host ?? ""}`)?.host
}

const misdirected = (host: string): Refusal => ({
  tag: "refused",
  status: 421,
  message:
    `this recorder is not called ${quoted(host)}: without --auth it answers to localhost, to addresses, and to names of ` +
    "--allow-host, so that no web page can reach it by a name of its own",
})

const foreign: Refusal = {
  tag: "refused",
  status: 403,
  message: "this recorder asks for no token, so it exports nothing for web pages of others",
}
