/**
 * An API server over a recorded past, for every moment of it at once: `/at/TIME/` in a path is a moment, and every other path is of the moment that the
 * server was started for, or of time that runs. Read-only.
 */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import {
  type ApiHandler,
  answerUnknownMethods,
  asksForWebSocket,
  type Failure,
  fail,
  internalError,
  parseRoute,
  type ServerTls,
  statusText,
  tlsOptions,
  unauthorized,
  WebSocketRequest,
} from "../../apiserver/index.ts"
import { messageOf } from "../../message-of.ts"
import { isPagePath, servePage } from "../../page/index.ts"
import { RunningMoment } from "../backend/moments.ts"
import { type HandlerSettings, MomentHandlers } from "./moment-handlers.ts"
import { momentIn } from "./moment-path.ts"

export interface HistoryServerSettings extends HandlerSettings {
  /** The moment of paths without one; with a speed, time runs from there. */
  readonly root: { readonly moment: string; readonly speed?: number | undefined }
  /** Default: the loopback address. */
  readonly host?: string
  /** 0: the kernel chooses. */
  readonly port: number
  /** Bearer token that every request must carry. Default: none needed. */
  readonly token?: string | undefined
  readonly tls?: ServerTls | undefined
  /** Why a request with this `Host` is refused; `undefined` if it is not. Default: none is. */
  readonly refuseHost?: ((host: string | undefined) => string | undefined) | undefined
  /** Answers the questions of the page, whose paths begin with `/v1/`, like a recorder. Default: there is no page. */
  readonly answerPage?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
}

export class HistoryServer implements AsyncDisposable {
  readonly #settings: HistoryServerSettings
  readonly #handlers: MomentHandlers
  readonly #running: RunningMoment | undefined
  readonly #runningHandler: ApiHandler | undefined
  readonly #server: Server
  /** Connections that Node's server no longer counts among its own. */
  readonly #webSockets = new Set<Socket>()

  /**
   * Listens; with a speed, time begins to run. Rejects with the system's error if the port is taken, with a {@link MomentRefused} if the root's moment
   * cannot be served, and with what reading the past throws.
   */
  static async listen(settings: HistoryServerSettings): Promise<HistoryServer> {
    const { past, clock, root, onTrouble } = settings
    const handlers = new MomentHandlers(settings)
    const atRoot = await handlers.at(root.moment)
    if ("code" in atRoot) throw new MomentRefused(atRoot.message)
    const asked = settings.readMoment(root.moment)
    const running =
      root.speed === undefined || typeof asked === "string"
        ? undefined
        : await RunningMoment.start(past, clock, {
            from: asked.time,
            speed: root.speed,
            onTrouble: (error) => onTrouble(`the time that runs: ${messageOf(error)}`),
          })
    const server = new HistoryServer(settings, handlers, running)
    await server.#listen()
    return server
  }

  private constructor(settings: HistoryServerSettings, handlers: MomentHandlers, running: RunningMoment | undefined) {
    const { tls } = settings
    this.#settings = settings
    this.#handlers = handlers
    this.#running = running
    this.#runningHandler = running && handlers.handlerOf(running, () => running.play.now())
    const handle = (request: IncomingMessage, response: ServerResponse): void =>
      this.#answer(request, response, (handler) => handler.handle(request, response))
    const shouldUpgradeCallback = asksForWebSocket
    this.#server =
      tls === undefined
        ? createHttpServer({ shouldUpgradeCallback }, handle)
        : createHttpsServer({ ...tlsOptions(tls), shouldUpgradeCallback }, handle)
    // Clients keep connections for longer than Node's 5 s, and one that is used as it closes fails.
    this.#server.keepAliveTimeout = 120_000
    answerUnknownMethods(this.#server, (json) => json)
    this.#server.on("upgrade", (request, duplex, head) => {
      const socket = duplex as Socket
      this.#webSockets.add(socket)
      socket.once("close", () => this.#webSockets.delete(socket))
      const early = (): ServerResponse => new WebSocketRequest(request, socket, head).response
      this.#answer(request, early, (handler) => handler.upgrade(request, socket, head))
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Whether recorded time has come to its end, of a server on which it runs. */
  get isOver(): boolean {
    return this.#running !== undefined && this.#running.play.now() >= this.#running.play.to
  }

  /** Ends all watches and stops listening. The past stays open. */
  async close(): Promise<void> {
    this.#running?.close()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#webSockets) socket.destroy()
    this.#server.closeAllConnections()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #listen(): Promise<void> {
    const { host = "127.0.0.1", port } = this.#settings
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject)
        // Too many open files lose one connection, and must not end the process.
        this.#server.on("error", (error) => this.#settings.onTrouble(`the server: ${messageOf(error)}`))
        resolve()
      })
    })
  }

  /** `response`: for an answer that no moment gives. */
  #answer(
    request: IncomingMessage,
    response: ServerResponse | (() => ServerResponse),
    pass: (handler: ApiHandler) => void,
  ): void {
    const refuse = (failure: Failure): void =>
      sendFailure(request, typeof response === "function" ? response() : response, failure)
    const { token, onTrouble, refuseHost, answerPage } = this.#settings
    const foreign = refuseHost?.(request.headers.host)
    if (foreign !== undefined) return refuse(fail(421, foreign))
    const [path = ""] = (request.url ?? "").split("?")
    // A question of the page begins with /v1/, and no request of Kubernetes does.
    const ofPage = answerPage === undefined || typeof response === "function" ? undefined : response
    if (ofPage !== undefined && isPagePath(path)) return servePage(request, ofPage, path)
    const { authorization, "kubereel-authorization": shown = authorization } = request.headers
    if (token !== undefined && shown !== `Bearer ${token}`) return refuse(unauthorized)
    if (ofPage !== undefined && path.startsWith("/v1/")) return answerPage?.(request, ofPage)
    this.#handlerOf(request).then(
      (handler) => {
        if ("code" in handler) refuse(handler)
        else pass(handler)
      },
      (error: unknown) => {
        onTrouble(`${request.method} ${request.url}: ${messageOf(error)}`)
        refuse(internalError(messageOf(error)))
      },
    )
  }

  async #handlerOf(request: IncomingMessage): Promise<ApiHandler | Failure> {
    const path = momentIn(request.url ?? "/")
    if (path !== undefined) {
      request.url = path.rest
      return this.#handlers.at(path.moment)
    }
    return this.#runningHandler ?? this.#handlers.at(this.#settings.root.moment)
  }
}

/** The moment that a server was to be started for cannot be served; the message says why. */
export class MomentRefused extends Error {
  override readonly name = "MomentRefused"
}

const sendFailure = (request: IncomingMessage, response: ServerResponse, failure: Failure): void => {
  // The client may still be sending.
  request.resume()
  const isOfResource = parseRoute(request.url ?? "/").type === "resource"
  const [code, type, text] = isOfResource
    ? [failure.code, "application/json", statusText(failure)]
    : [shownCode(failure), "text/plain; charset=utf-8", failure.message]
  response.writeHead(code, { "Content-Type": type, "Content-Length": Buffer.byteLength(text) })
  response.end(text)
}

/**
 * In discovery, with which kubectl begins, client-go shows the server's own words for few codes, only from plain text, and takes 403 and 404 for a server
 * without kinds (apimachinery, NewGenericServerResponse). 406 is shown as it is.
 */
const shownCode = ({ code }: Failure): number => (code === 410 || code === 400 ? 406 : code)
