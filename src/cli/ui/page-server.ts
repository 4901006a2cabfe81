/**
 * The page of one recording, which only the user who started the command can open.
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

/** Characters of a secret: 256 bits. */
const secretBytes = 32

const digest = (given: string): Buffer => createHash("sha256").update(given).digest()

/** `url` is the address of the page, with the secret. Rejects with AddressUnavailable. */
export const servePageOf = async (address: RecorderAddress, listen: ListenAddress): Promise<ListeningServer> => {
  const secret = randomBytes(secretBytes).toString("base64url")
  const expected = digest(secret)
  const server = createServer((request, response) => {
    // Unless it is passed on, what a client sends is read to its end.
    if (!isByOwnName(request, response, listen)) return void request.resume()
    const [, given = "", url = ""] = /^\/([^/?]*)(\/.*)?$/s.exec(request.url ?? "") ?? []
    const [path = ""] = url.split("?")
    const isKnown = timingSafeEqual(digest(given), expected)
    if (isKnown && isQuestion(path)) return void passOn(address, request, response, url)
    request.resume()
    const page = withoutPin(path)
    if (isKnown && isPagePath(page)) return servePage(request, response, page)
    text(response, 404, "not found; reel ui has printed the address of its page\n")
  })
  const listening = await listenOn(server, listen, "--listen")
  return { url: `${listening.url}/${secret}/ui/`, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() }
}
