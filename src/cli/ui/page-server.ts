/**
 * The page of one recording, or of one of several clusters at a time, which only the user who started the command can open.
 *
 * Everything is below a path with a random secret: other users of the machine, and pages of other origins, do not know it, and no cookie carries it to other ports of
 * this host. Beside it, the name in `Host` must be the server's own (DNS rebinding), and questions are answered only to the page itself.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import { isPagePath, servePage } from "../../page/index.ts"
import { text } from "../../recorder/index.ts"
import type { ListenAddress } from "../command-line/listen-option.ts"
import { isByOwnName, type ListeningServer, listenOn } from "../command-line/listening-server.ts"
import type { RecorderAddress } from "../export/connection/recorder-connection.ts"
import { isQuestion, passOn, withoutPin } from "./passed-on.ts"
import { ServedClusters } from "./served-clusters.ts"

/** Characters of a secret: 256 bits. */
const secretBytes = 32

const digest = (given: string): Buffer => createHash("sha256").update(given).digest()

/** What the page with a switch is below, and before that the name of a cluster, in front of what the page of that alone would ask. */
const clustersPrefix = /^\/clusters(?:\/([^/?]+)(?=\/(?:v1|ui|pins)\/))?(\/.*)$/s

/**
 * `url` is the address of the page, with the secret. That of clusters is `/clusters/ui/`, beside which `/clusters/v1/clusters` lists them; what is asked of one
 * is below `/clusters/NAME`, where it has a page of its own. Rejects with AddressUnavailable.
 */
export const servePageOf = async (
  source: RecorderAddress | ServedClusters,
  listen: ListenAddress,
): Promise<ListeningServer> => {
  const clusters = source instanceof ServedClusters ? source : undefined
  const secret = randomBytes(secretBytes).toString("base64url")
  const expected = digest(secret)
  const server = createServer((request, response) => {
    // Unless it is passed on, what a client sends is read to its end.
    if (!isByOwnName(request, response, listen)) return void request.resume()
    const [, given = "", url = ""] = /^\/([^/?]*)(\/.*)?$/s.exec(request.url ?? "") ?? []
    const [, name, rest = ""] = clusters === undefined ? [url, undefined, url] : (clustersPrefix.exec(url) ?? [])
    const [path = ""] = rest.split("?")
    const isKnown = timingSafeEqual(digest(given), expected)
    if (isKnown && isQuestion(path)) {
      if (!(source instanceof ServedClusters)) return void passOn(source, request, response, rest)
      if (name !== undefined) return void source.answer(name, request, response, rest)
      if (path === "/v1/clusters" && request.method === "GET") return source.list(request, response)
    }
    request.resume()
    const page = withoutPin(path)
    if (isKnown && isPagePath(page)) return servePage(request, response, page)
    text(response, 404, "not found; reel ui has printed the address of its page\n")
  })
  const listening = await listenOn(server, listen, "--listen")
  const page = clusters === undefined ? "ui" : "clusters/ui"
  return { url: `${listening.url}/${secret}/${page}/`, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() }
}
