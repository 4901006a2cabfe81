/**
 * Reviews of an API server, of admission and of conversion in version v1: what they are as JSON, and the HTTPS server that it sends them to, with `POST`.
 * Bodies and the number of connections are bounded.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Server } from "node:https"
import type { AddressInfo } from "node:net"
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
  /** Gets one sentence for each request that is no review, or could not be read. */
  readonly onProblem: (problem: string) => void
}

/** Old and new state of the largest object that etcd accepts, 1.5 MiB each, escaped. */
const mostBytes = 8 * 1024 * 1024
/** API servers keep connections for 90 s. If this side closed one first, a review sent at that moment would be lost: a POST is not repeated. */
const keepAliveMs = 300_000
/** An API server needs one for each object that is written at the same moment: at most 600 by default, its requests in flight. */
const mostConnections = 1024

/** A server that listens from {@link ReviewServer.start} to {@link ReviewServer.close}. */
export class ReviewServer {
  readonly #server: Server
  readonly port: number

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** Rejects with the error of the socket. */
  static async start(options: ReviewServerOptions): Promise<ReviewServer> {
    // Controllers without webhooks run without it: it costs 5 MB.
    const { createServer } = await import("node:https")
    const { certificate: cert, key } = options.certificate
    const server = createServer({ cert, key, keepAliveTimeout: keepAliveMs }, (request, response) => {
      handle(request, response, options).catch((error: unknown) => {
        // The connection broke: a response cannot arrive.
        options.onProblem(`a review could not be read: ${messageOf(error)}`)
        response.destroy()
      })
    })
    server.maxConnections = mostConnections
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(options.port, options.address, () => {
        server.off("error", reject)
        // Such as too many open files: that connection is lost, the others continue.
        server.on("error", (error) => options.onProblem(`a connection to the webhook failed: ${messageOf(error)}`))
        resolve()
      })
    })
    return new ReviewServer(server)
  }

  /** For connections from now on. */
  replaceCertificate({ certificate: cert, key }: Omit<ServerCertificate, "authority">): void {
    this.#server.setSecureContext({ cert, key })
  }

  /** Resolves when all connections are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}

const handle = async (
  request: IncomingMessage,
  response: ServerResponse,
  { at, onProblem }: ReviewServerOptions,
): Promise<void> => {
  const reply = ({ status, text }: ReviewReply): void => {
    const type = status === 200 ? "application/json" : "text/plain"
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text)
  }
  const answer = at((request.url ?? "").split("?", 1)[0] ?? "")
  if (answer === undefined) return reply({ status: 404, text: "not found\n" })
  if (request.method !== "POST") return reply({ status: 405, text: "only POST is allowed\n" })
  const body = await read(request)
  const tooLong = `the body has more than ${mostBytes} bytes\n`
  const given = body === undefined ? { status: 413, text: tooLong } : await answerReview(body, answer)
  if (given.status < 500 && given.status !== 200) onProblem(`a review was refused: ${given.text.trimEnd()}`)
  reply(given)
}

/** `undefined`: too long. */
const read = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    // The rest is read all the same: the API server does not listen before it has sent everything.
    if (length <= mostBytes) chunks.push(chunk)
  }
  return length > mostBytes ? undefined : Buffer.concat(chunks).toString("utf8")
}
