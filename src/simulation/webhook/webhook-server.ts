/**
 * The HTTPS server that an API server asks about pods, with `POST` to one path. A review is always answered with
 * "allowed"; what goes wrong costs the pod its patch. What is no review is refused, and said. Bodies and the number of connections are bounded.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { isRecord } from "../../is-record.ts"
import type { Pod } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import type { ServerCertificate } from "./certificate.ts"

// AdmissionReview of `admission.k8s.io/v1`: what an API server asks of a webhook, and the answer.

/** One request of an API server about a Pod. */
export interface PodReview {
  readonly uid: string
  readonly operation: "CREATE" | "UPDATE"
  readonly namespace: string
  /** Its name is empty if the server generates one. */
  readonly pod: Pod
  /** The stored object; `undefined` for a creation. */
  readonly before: Pod | undefined
  /** Nothing is stored. */
  readonly isDryRun: boolean
}

/** An operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: "add"
  /** JSON pointer. */
  readonly path: string
  readonly value: unknown
}

/** Why a body is not a review; the text is for the server's log. */
type ReviewProblem = { readonly problem: string }

/** Reads a request: the review of a Pod, the UID of a request about anything else, or what is wrong with it. `undefined`: a body that is too long. */
export const readReview = (body: string | undefined): PodReview | { readonly uid: string } | ReviewProblem => {
  if (body === undefined) return { problem: `the body has more than ${mostBytes} bytes` }
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return { problem: "the body is not JSON" }
  }
  if (!isRecord(value) || value.kind !== "AdmissionReview" || value.apiVersion !== reviewVersion)
    return { problem: `the body is not an AdmissionReview of ${reviewVersion}` }
  const { request } = value
  if (!isRecord(request) || typeof request.uid !== "string" || request.uid === "")
    return { problem: "the review has no request" }
  const { uid, operation, namespace, object, oldObject, dryRun } = request
  const isAboutPod = (operation === "CREATE" || operation === "UPDATE") && isPod(object)
  if (!isAboutPod || typeof namespace !== "string") return { uid }
  const before = operation === "UPDATE" && isPod(oldObject) ? oldObject : undefined
  return { uid, operation, namespace, pod: object, before, isDryRun: dryRun === true }
}

const isPod = (value: unknown): value is Pod =>
  isRecord(value) && value.kind === "Pod" && isRecord(value.metadata) && isRecord(value.spec)

const reviewVersion = "admission.k8s.io/v1"

/** Always allows: a replay changes pods and rejects none. */
const answerReview = (uid: string, patch: ReadonlyArray<PatchOperation>): string => {
  const changed = patch.length > 0 && {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
  }
  const response = { uid, allowed: true, ...changed }
  return JSON.stringify({ apiVersion: reviewVersion, kind: "AdmissionReview", response })
}

/** `review`: what to change in a pod; may reject, which costs the pod its patch. */
interface WebhookServerOptions {
  /** Where it listens; port 0: any that is free. */
  readonly address: string
  readonly port: number
  /** API servers do not authenticate to webhooks: a path that cannot be guessed keeps others from sending reviews. */
  readonly path: string
  readonly certificate: Omit<ServerCertificate, "authority">
  readonly review: (review: PodReview) => Promise<ReadonlyArray<PatchOperation>>
  /** Gets one sentence for each pod that was not changed because of a failure, and for each request of an API server that is no review. */
  readonly onProblem: (problem: string) => void
}

/** Old and new state of the largest object that etcd accepts, 1.5 MiB each, escaped. */
const mostBytes = 8 * 1024 * 1024
/**
 * API servers keep connections for 90 s. If this side closed one first, a review sent at that moment would be lost, and a POST is not
 * repeated: the pod would be created without its life.
 */
const keepAliveMs = 300_000
/** An API server needs one for each pod that is created at the same moment: at most 600 by default, its requests in flight. */
const mostConnections = 1024

/** A server that listens from {@link WebhookServer.start} to {@link WebhookServer.close}. */
export class WebhookServer {
  readonly #server: Server
  readonly port: number

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** Rejects with the error of the socket. */
  static async start(options: WebhookServerOptions): Promise<WebhookServer> {
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
    return new WebhookServer(server)
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
  options: WebhookServerOptions,
): Promise<void> => {
  if (request.url?.split("?", 1)[0] !== options.path) return reply(response, 404, "text/plain", "not found\n")
  if (request.method !== "POST") return reply(response, 405, "text/plain", "only POST is allowed\n")
  const body = await read(request)
  const review = readReview(body)
  if ("problem" in review) {
    options.onProblem(`a review was refused: ${review.problem}`)
    return reply(response, body === undefined ? 413 : 400, "text/plain", `${review.problem}\n`)
  }
  reply(
    response,
    200,
    "application/json",
    answerReview(review.uid, "pod" in review ? await patch(review, options) : []),
  )
}

const patch = async (review: PodReview, options: WebhookServerOptions): Promise<ReadonlyArray<PatchOperation>> => {
  try {
    return await options.review(review)
  } catch (error) {
    const { name, generateName = "" } = review.pod.metadata
    options.onProblem(
      `pod ${review.namespace}/${name || generateName} lives as the cluster decides: ${messageOf(error)}`,
    )
    return []
  }
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

const reply = (response: ServerResponse, status: number, type: string, body: string): void => {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) }).end(body)
}
