/**
 * The shortest way to an API server: a kubeconfig with a token or a client certificate, and `node:https`.
 *
 * Code that verifies the recorder must not share its code, so none of src/kube and no client library is used here.
 */

import { readFile } from "node:fs/promises"
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { request as httpsRequest, type RequestOptions as TlsRequestOptions } from "node:https"
import { dirname, resolve } from "node:path"
import { parse } from "yaml"
import { type Json, parseExactly } from "./exact-json.ts"

/** The address of an API server and the client's credentials. */
export interface Connection {
  /** `https://host:port`, maybe with a path prefix. */
  readonly server: string
  readonly options: TlsRequestOptions
}

interface Kubeconfig {
  readonly "current-context"?: string
  readonly contexts?: ReadonlyArray<{ name: string; context: { cluster: string; user: string } }>
  readonly clusters?: ReadonlyArray<{ name: string; cluster: { [key: string]: string | boolean | undefined } }>
  readonly users?: ReadonlyArray<{ name: string; user: { [key: string]: string | undefined } }>
}

/** The current context of a kubeconfig file. @throws Error when it needs more than a token or a certificate. */
export const readConnection = async (file: string): Promise<Connection> => {
  const configuration = parse(await readFile(file, "utf8")) as Kubeconfig
  const named = configuration.contexts?.find(({ name }) => name === configuration["current-context"])
  const cluster = configuration.clusters?.find(({ name }) => name === named?.context.cluster)?.cluster
  const user = configuration.users?.find(({ name }) => name === named?.context.user)?.user
  if (cluster === undefined || user === undefined)
    throw new Error(`${file}: the current context has no cluster or user`)

  const bytes = async (source: { [key: string]: string | boolean | undefined }, key: string) => {
    const inline = source[`${key}-data`]
    if (typeof inline === "string") return Buffer.from(inline, "base64")
    const path = source[key]
    return typeof path === "string" ? await readFile(resolve(dirname(file), path)) : undefined
  }
  const [ca, cert, key] = await Promise.all([
    bytes(cluster, "certificate-authority"),
    bytes(user, "client-certificate"),
    bytes(user, "client-key"),
  ])
  if (user.token === undefined && cert === undefined && String(cluster.server).startsWith("https:"))
    throw new Error(`${file}: the observer understands tokens and client certificates only`)
  return {
    server: String(cluster.server).replace(/\/$/, ""),
    options: {
      headers: user.token === undefined ? {} : { authorization: `Bearer ${user.token}` },
      rejectUnauthorized: cluster["insecure-skip-tls-verify"] !== true,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  }
}

/** The response to one GET, its body not yet read. Uses its own connection, so that nothing is shared between streams. */
export const open = (connection: Connection, path: string, signal?: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const url = new URL(connection.server + path)
    const options: RequestOptions = { ...connection.options, agent: false, ...(signal === undefined ? {} : { signal }) }
    const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options)
    request.on("response", resolve).on("error", reject).end()
  })

/** The JSON of one GET and the server's clock (ms since the Unix epoch). @throws Error for any status but 200. */
export const get = async (connection: Connection, path: string): Promise<{ body: Json; date: number }> => {
  const response = await open(connection, path)
  const text = await readText(response)
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode} ${text.slice(0, 300)}`)
  const date = Date.parse(response.headers.date ?? "")
  return { body: parseExactly(text), date: Number.isNaN(date) ? Date.now() : date }
}

/** A whole body as text. */
export const readText = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}
