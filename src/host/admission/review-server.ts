/**
 * Reviews of an API server, of admission and of conversion in version v1: what they are as JSON, and the HTTPS server that it sends them to, with `POST`.
 *
 * API servers do not authenticate, so anybody who reaches the port can send reviews. The memory that bodies take, the number of connections, the time that
 * one may take to send a review, and the lines about bad requests are bounded. When all connections are in use, those that have sent no review for the
 * longest time are closed for new ones.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Server } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { backgroundClock, type Clock } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { messageOf } from "../../message-of.ts"
import type { ServerCertificate } from "./certificate.ts"

/** `request` of a review: of an AdmissionReview or a ConversionReview. */
export type ReviewRequest = Readonly<Record<string, unknown>>

/** Returns the `response`, but for its `uid`. What it rejects with is an answer too: see {@link answerReview}. */
type AnswerRequest = (request: ReviewRequest) => Promise<object>

/** A response. A status of 200 has JSON, any other a sentence. */
interface ReviewReply {
  readonly status: number
  readonly text: string
}

/** The response of admission that allows a write, with a JSON patch. */
export const allowedWith = (patch: ReadonlyArray<object>): object => ({
  allowed: true,
  ...(patch.length > 0 && {
    ...{ patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") },
  }),
})

/** The review in a body, or what is wrong with it. */
export const readReview = (body: string) => {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return { problem: "the body is not JSON" }
  }
  const { apiVersion, kind, request } = isRecord(value) ? value : {}
  const isConversion = kind === "ConversionReview" && apiVersion === "apiextensions.k8s.io/v1"
  if (!isConversion && !(kind === "AdmissionReview" && apiVersion === "admission.k8s.io/v1"))
    return { problem: "the body is no AdmissionReview or ConversionReview of version v1" }
  if (!isRecord(request) || typeof request.uid !== "string" || request.uid === "")
    return { problem: "the review has no request" }
  return {
    request,
    isConversion,
    reviewOf: (more: object) => ({ apiVersion, kind, response: { uid: request.uid, ...more } }),
  }
}

/**
 * Answers a review. Never rejects: if `answer` does, that is a conversion that failed, or of admission a status of 500, so that the webhook's failure policy
 * decides. API servers show the text of that status, and not that of a 503.
 */
export const answerReview = async (body: string, answer: AnswerRequest): Promise<ReviewReply> => {
  const review = readReview(body)
  if ("problem" in review) return { status: 400, text: `${review.problem}\n` }
  const replied = (response: object) => ({ status: 200, text: JSON.stringify(review.reviewOf(response)) })
  try {
    return replied(await answer(review.request))
  } catch (error) {
    const message = messageOf(error)
    return review.isConversion
      ? replied({ result: { status: "Failed", message } })
      : { status: 500, text: `${message}\n` }
  }
}

interface ReviewServerOptions {
  /** Where it listens; port 0: any that is free. */
  readonly address: string
  readonly port: number
  readonly certificate: Omit<ServerCertificate, "authority">
  /** What answers at a path; others are answered with 404. */
  readonly at: (path: string) => AnswerRequest | undefined
  /** Gets a sentence for requests that are no reviews, or could not be read: each sentence at most once a minute, with how often it was due meanwhile. */
  readonly onProblem: (problem: string) => void
  /** Default: {@link backgroundClock}. */
  readonly clock?: Pick<Clock, "monotonicMs" | "after"> | undefined
}

/** Old and new state of the largest object that etcd accepts, 1.5 MiB each, escaped. */
const mostBytes = 8 * 1024 * 1024
/** Of all bodies that are being read or answered: those of eight of the largest objects, or of thousands of usual ones. */
const mostBytesTogether = 64 * 1024 * 1024
/** API servers keep connections for 90 s. If this side closed one first, a review sent at that moment would be lost: a POST is not repeated. */
const keepAliveMs = 100_000
/** ms for the TLS handshake, for the head of a request, and for all of it: API servers need some milliseconds of the 30 s that they wait at most. */
const sendingMs = 10_000
/** ms between two looks for connections that have taken longer. */
const lookMs = 2000
/** An API server needs one for each object that is written at the same moment: at most 600 by default, its requests in flight. */
const mostConnections = 1024
/** ms for which reviews are answered after the end: most take some milliseconds, and orchestrators allow more for all of the end. */
const closingMs = 2000
/** ms in which the same problem is said once. */
const sameProblemMs = 60_000

/** A server that listens from {@link ReviewServer.start} to {@link ReviewServer.close}. */
export class ReviewServer {
  readonly #server: Server
  readonly #options: ReviewServerOptions
  readonly #problem: (problem: string) => void
  /** Connections that no complete review was received from since the last answer, by the addresses of the clients; the longest such first. */
  readonly #waiting = new Map<string, Socket>()
  /** Connections of which a review is being read or answered, by the addresses of the clients. */
  readonly #underWay = new Set<string>()
  readonly port: number
  #isClosing = false
  #connections = 0
  /** Of bodies that are being read or answered. */
  #bytes = 0

  private constructor(server: Server, options: ReviewServerOptions) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#options = options
    this.#problem = oncePerMinute(options.onProblem, options.clock ?? backgroundClock)
    // Such as too many open files: that connection is lost, the others continue.
    server.on("error", (error) => this.#problem(`a connection to the webhook failed: ${messageOf(error)}`))
    server.on("connection", (socket: Socket) => this.#connected(socket))
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        // The connection broke: a response cannot arrive.
        this.#problem(`a review could not be read: ${messageOf(error)}`)
        response.destroy()
      })
    })
  }

  /** Rejects with the error of the socket. */
  static async start(options: ReviewServerOptions): Promise<ReviewServer> {
    // Controllers without webhooks run without it: it costs 5 MB.
    const { createServer } = await import("node:https")
    const { certificate: cert, key } = options.certificate
    const server = createServer({
      ...{ cert, key, keepAliveTimeout: keepAliveMs, connectionsCheckingInterval: lookMs },
      ...{ handshakeTimeout: sendingMs, headersTimeout: sendingMs, requestTimeout: sendingMs },
    })
    server.maxConnections = mostConnections
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(options.port, options.address, () => {
        server.off("error", reject)
        resolve()
      })
    })
    return new ReviewServer(server, options)
  }

  /** For connections from now on. */
  replaceCertificate({ certificate: cert, key }: Omit<ServerCertificate, "authority">): void {
    this.#server.setSecureContext({ cert, key })
  }

  /**
   * Takes no new connections, answers reviews under way for up to 2 s, and then closes what is left: a write whose review is cut is refused by `Fail`.
   * Resolves when all connections are closed.
   */
  close(): Promise<void> {
    this.#isClosing = true
    return new Promise((resolve) => {
      const { clock = backgroundClock } = this.#options
      const late = clock.after(closingMs, () => this.#server.closeAllConnections())
      this.#server.close(() => {
        late.cancel()
        resolve()
      })
      for (const [client, socket] of this.#waiting) if (!this.#underWay.has(client)) socket.destroy()
    })
  }

  /** Leaves room for the next one. */
  #connected(socket: Socket): void {
    this.#connections++
    const client = addressOf(socket)
    this.#waiting.set(client, socket)
    socket.once("close", () => {
      this.#connections--
      this.#waiting.delete(client)
    })
    const [longest] = this.#waiting.values()
    if (this.#connections >= mostConnections) longest?.destroy()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = ({ status, text }: ReviewReply): void => {
      response.shouldKeepAlive &&= !this.#isClosing
      const type = status === 200 ? "application/json" : "text/plain"
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text)
    }
    const answer = this.#options.at((request.url ?? "").split("?", 1)[0] ?? "")
    if (answer === undefined) return reply({ status: 404, text: "not found\n" })
    if (request.method !== "POST") return reply({ status: 405, text: "only POST is allowed\n" })
    const client = addressOf(request.socket)
    const connection = this.#waiting.get(client)
    const wait = (): void => {
      this.#waiting.delete(client)
      if (connection !== undefined && !connection.destroyed) this.#waiting.set(client, connection)
    }
    wait()
    let held = 0
    this.#underWay.add(client)
    try {
      const body = await this.#read(request, (bytes) => {
        held += bytes
        this.#bytes += bytes
      })
      this.#waiting.delete(client)
      const given = typeof body === "string" ? await answerReview(body, answer) : body
      if (given.status !== 200 && given.status !== 500) this.#problem(`a review was refused: ${given.text.trimEnd()}`)
      reply(given)
    } finally {
      this.#bytes -= held
      this.#underWay.delete(client)
      wait()
    }
  }

  /** The body, or why it is not kept. `hold`: gets how many bytes are kept, or negative are not any more. */
  async #read(request: IncomingMessage, hold: (bytes: number) => void): Promise<string | ReviewReply> {
    let chunks: Buffer[] = []
    let length = 0
    let refusal: ReviewReply | undefined
    for await (const chunk of request as AsyncIterable<Buffer>) {
      // The rest is read all the same: the API server does not listen before it has sent everything.
      if (refusal !== undefined) continue
      if (length + chunk.length > mostBytes)
        refusal = { status: 413, text: `the body has more than ${mostBytes} bytes\n` }
      else if (this.#bytes + chunk.length > mostBytesTogether)
        refusal = { status: 503, text: `reviews of more than ${mostBytesTogether} bytes would be read at once\n` }
      if (refusal === undefined) {
        chunks.push(chunk)
        length += chunk.length
        hold(chunk.length)
      } else {
        chunks = []
        hold(-length)
      }
    }
    return refusal ?? Buffer.concat(chunks).toString("utf8")
  }
}

/** The socket of a TLS connection and the one below it are two objects with the same address. */
const addressOf = ({ remoteAddress = "", remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`

/** Says a sentence at once, and again with how often it was due since, if that is a minute later. Sentences are few: none has anything of a body in it. */
const oncePerMinute = (say: (text: string) => void, clock: Pick<Clock, "monotonicMs">) => {
  const told = new Map<string, { readonly atMs: number; more: number }>()
  return (text: string): void => {
    const before = told.get(text)
    const nowMs = clock.monotonicMs()
    if (before !== undefined && nowMs - before.atMs < sameProblemMs) before.more++
    else {
      say(
        before === undefined || before.more === 0 ? text : `${text} (and ${before.more} times since it was last said)`,
      )
      told.set(text, { atMs: nowMs, more: 0 })
    }
  }
}
