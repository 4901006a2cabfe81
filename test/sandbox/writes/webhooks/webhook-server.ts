/** A webhook over HTTPS on loopback, and the configurations that name it: plain node:https, nothing of our own protocol code. */

import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { makeCertificates } from "../../../kube/certificates.ts"

/** The members of a request that tests use. */
export interface ReviewRequest {
  readonly uid: string
  readonly kind: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
  readonly subResource?: string
  readonly name?: string
  readonly namespace?: string
  readonly operation: string
  readonly userInfo: { readonly username: string; readonly groups: ReadonlyArray<string> }
  readonly object: ReviewedObject | null
  readonly oldObject: ReviewedObject | null
  readonly dryRun: boolean
  readonly options: Readonly<Record<string, unknown>>
}

export interface ReviewedObject {
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>> & { readonly labels?: Readonly<Record<string, string>> }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, string>>
}

export interface Review {
  /** Path and query. */
  readonly path: string
  readonly request: ReviewRequest
}

/** Members of the response besides the uid; a text is the whole body, a number the status. `undefined`: never answers. */
export type ReviewAnswer = Readonly<Record<string, unknown>> | string | number | undefined

const certificates = makeCertificates()

export const authority = certificates.authority

/** A response with a JSON patch. */
export const patching = (...operations: ReadonlyArray<object>): ReviewAnswer => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
})

export class WebhookServer implements AsyncDisposable {
  readonly #server: Server
  /** Newest last. */
  readonly reviews: Review[] = []
  /** Connections accepted so far. */
  connections = 0

  /** `answer` gets the path without the query. */
  private constructor(
    answer: (path: string, request: ReviewRequest) => ReviewAnswer | Promise<ReviewAnswer>,
    tls: { readonly key: string; readonly cert: string },
  ) {
    this.#server = createServer({ ...tls }, (incoming, response) => {
      const parts: Buffer[] = []
      incoming.on("data", (part: Buffer) => parts.push(part))
      incoming.on("end", async () => {
        const { request } = JSON.parse(Buffer.concat(parts).toString()) as { readonly request: ReviewRequest }
        const path = incoming.url ?? ""
        this.reviews.push({ path, request })
        const given = await answer(path.split("?", 1)[0] ?? "", request)
        if (given === undefined) return
        const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }
        const text =
          typeof given !== "object"
            ? String(given)
            : JSON.stringify({ ...review, response: { uid: request.uid, ...given } })
        response.writeHead(typeof given === "number" ? given : 200, { "content-type": "application/json" })
        response.end(text)
      })
    })
    this.#server.on("secureConnection", () => this.connections++)
  }

  /** `tls`: default that of 127.0.0.1, signed by {@link authority}. */
  static async start(
    answer: (path: string, request: ReviewRequest) => ReviewAnswer | Promise<ReviewAnswer>,
    tls = { key: certificates.server.key, cert: certificates.server.certificate },
  ): Promise<WebhookServer> {
    const made = new WebhookServer(answer, tls)
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve))
    return made
  }

  /** `https://127.0.0.1:port` */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** `OPERATION plural/subresource name` of every review, with the path that it came to. */
  get seen(): ReadonlyArray<string> {
    return this.reviews.map(({ path, request: { operation, resource, subResource, name = "-" } }) =>
      [path.split("?", 1)[0], operation, [resource.resource, subResource].filter(Boolean).join("/"), name].join(" "),
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

/** An entry of a configuration: all writes of ConfigMaps, unless `rest` says something else. */
export const webhook = (server: { readonly url: string }, path: string, rest: object = {}) => ({
  name: `${path.slice(1)}.example.com`,
  clientConfig: { url: `${server.url}${path}`, caBundle: Buffer.from(authority).toString("base64") },
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...rest,
})

const group = "/apis/admissionregistration.k8s.io/v1"
export const mutatingConfigurations = `${group}/mutatingwebhookconfigurations`
export const validatingConfigurations = `${group}/validatingwebhookconfigurations`

export const configuration = (name: string, ...webhooks: ReadonlyArray<object>) => ({ metadata: { name }, webhooks })
