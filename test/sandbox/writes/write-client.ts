/** A client that writes: plain node:http, nothing of our own protocol code. */

import { request } from "node:http"
import type { Sandbox } from "../../../src/library/sandbox.ts"

export interface WriteAnswer {
  readonly status: number
  readonly text: string
  /** Texts of the `Warning` headers, unquoted. */
  readonly warnings: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The members of a response that these tests use. */
export interface Body {
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, string>>
  readonly items: ReadonlyArray<Body>
  readonly message: string
  readonly reason: string
  readonly details: Readonly<Record<string, unknown>>
  readonly code: number
}

export interface WriteOptions {
  readonly type?: string
  readonly userAgent?: string
}

/** A body other than text and bytes is sent as JSON. */
export const send = (
  sandbox: Sandbox,
  method: string,
  path: string,
  body?: unknown,
  { type = "application/json", userAgent = "probe/1.0" }: WriteOptions = {},
): Promise<WriteAnswer> =>
  new Promise((resolve, reject) => {
    const bytes =
      body === undefined
        ? undefined
        : Buffer.from(typeof body === "string" || body instanceof Buffer ? body : JSON.stringify(body))
    const headers: Record<string, string> = { "User-Agent": userAgent }
    if (type !== "") headers["Content-Type"] = type
    if (bytes !== undefined) headers["Content-Length"] = String(bytes.length)
    const sent = request(sandbox.url + path, { method, headers, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", reject)
      response.on("end", () => {
        const warnings = (response.headersDistinct.warning ?? []).map((value) =>
          value.replace(/^299 - "(.*)"$/, "$1").replaceAll(/\\(.)/g, "$1"),
        )
        const text = Buffer.concat(parts).toString("utf8")
        resolve({ status: response.statusCode ?? 0, text, warnings, headers: response.headers })
      })
    })
    sent.on("error", reject)
    sent.end(bytes)
  })

export const bodyOf = (answer: WriteAnswer): Body => JSON.parse(answer.text) as Body

/** Sends a request and reads the response; throws the server's message if the status is not the expected one. */
export const sendFor = async (
  sandbox: Sandbox,
  status: number,
  method: string,
  path: string,
  body?: unknown,
  options?: WriteOptions,
): Promise<Body> => {
  const answer = await send(sandbox, method, path, body, options)
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return bodyOf(answer)
}

export const mergePatch: WriteOptions = { type: "application/merge-patch+json" }
export const strategicPatch: WriteOptions = { type: "application/strategic-merge-patch+json" }
export const jsonPatch: WriteOptions = { type: "application/json-patch+json" }
export const applyPatch: WriteOptions = { type: "application/apply-patch+yaml" }

export const namespacePath = (namespace: string): string => `/api/v1/namespaces/${namespace}`
export const configMaps = "/api/v1/namespaces/default/configmaps"
export const deployments = "/apis/apps/v1/namespaces/default/deployments"
export const pods = "/api/v1/namespaces/default/pods"

export const deployment = (name: string, replicas?: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "x" }] } },
  },
})

export const pod = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "x" }] },
})
