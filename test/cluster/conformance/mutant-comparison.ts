/** Sends the same mutants of requests to both servers, each in a namespace of its own there, and compares the classes of the statuses. */
import { connect as connectPlain } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { connect as connectTls, TLSSocket } from "node:tls"
import { isCut, sendRaw } from "../../mutants/raw-exchange.ts"
import type { Received } from "../../mutants/received.ts"
import { type RequestMutant, type SentRequest, sentRequest } from "../../mutants/request-mutants.ts"
import { Variables } from "../../mutants/script-requests.ts"
import type { Connection } from "../connection.ts"
import type { Script } from "./script.ts"

/** A request to which the servers do not respond alike. */
export interface MutantDifference {
  readonly script: string
  readonly request: SentRequest
  readonly real: Received
  readonly sandbox: Received
}

/** The longest that a response may take, and how long a watch is kept. */
const longestMs = 20_000
const watchedMs = 250

const open = ({ server, options }: Connection) => {
  const { hostname: host, port, protocol } = new URL(server)
  const { ca, cert, key, rejectUnauthorized } = options
  const tls = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    rejectUnauthorized: rejectUnauthorized !== false,
  }
  return protocol === "https:" ? connectTls({ host, port: Number(port), ...tls }) : connectPlain(Number(port), host)
}

const exchange = async (connection: Connection, request: SentRequest): Promise<Received> => {
  const socket = open(connection)
  await new Promise((resolve, reject) =>
    socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", resolve).once("error", reject),
  )
  const token = connection.options.headers as Record<string, string> | undefined
  // The token makes a request longer, which must not cut one that is whole.
  const cutAt = isCut(request) ? request.cutAt : undefined
  const received = sendRaw(socket, { ...request, cutAt, headers: { ...token, ...request.headers } }, () => sleep(20))
  const start = performance.now()
  let streamedMs = 0
  while (!received.isComplete && streamedMs < watchedMs && performance.now() - start < longestMs) {
    await sleep(3)
    if (received.isStream) streamedMs += 3
  }
  socket.destroy()
  return received
}

/** A server that is busy may close a new connection before it has read the request; then it is sent again. */
const answered = async (connection: Connection, request: SentRequest): Promise<Received> => {
  for (let attempts = 1; ; attempts++) {
    const received = await exchange(connection, request)
    if (received.status !== 0 || isCut(request) || attempts === 3) return received
  }
}

/**
 * The sandbox of this suite lets everybody do everything, so it reads no header about users. Encodings of transfer that do not exist are refused
 * by the HTTP libraries, one with 501 and the other with 400.
 */
const isNotCompared = (headers: SentRequest["headers"]): boolean =>
  Object.keys(headers).some((name) => /^(authorization|impersonate-.*|x-remote-user|transfer-encoding)$/.test(name))

/** Whether both servers can be compared for a request: it changes nothing outside of the namespace, whatever its body says: the cluster is also that of other tests. */
export const isHarmless = ({ method, path, headers }: SentRequest, namespace: string): boolean => {
  if (isNotCompared(headers)) return false
  if (["GET", "HEAD", "OPTIONS"].includes(method)) return true
  const [given = ""] = path.split("?")
  return (
    new RegExp(`^/apis?/[^%]*/namespaces/${namespace}/[a-z]`).test(given) &&
    !given.includes("..") &&
    !given.includes("//")
  )
}

/** Sends a script's requests, each after its mutants, to both. */
export const compareMutants = async (
  real: Connection,
  sandbox: Connection,
  script: Script,
  mutants: ReadonlyArray<RequestMutant>,
  namespace: string,
): Promise<{ readonly sent: number; readonly differences: ReadonlyArray<MutantDifference> }> => {
  const targets = [real, sandbox] as const
  const variables = targets.map(() => new Variables(namespace)) as [Variables, Variables]
  const differences: MutantDifference[] = []
  let sent = 0
  const both = async (
    requests: readonly [SentRequest, SentRequest],
  ): Promise<readonly [Received, Received] | undefined> => {
    if (!requests.every((request) => isHarmless(request, namespace))) return undefined
    sent++
    const [first, second] = await Promise.all([answered(real, requests[0]), answered(sandbox, requests[1])])
    const classes = [first, second].map(({ status }) => Math.floor(status / 100))
    if (classes[0] !== classes[1] && !isCut(requests[0]))
      differences.push({ script: script.name, request: requests[1], real: first, sandbox: second })
    return [first, second]
  }
  for (const [index, step] of script.steps.entries()) {
    const plain = variables.map((each) => each.requestOf(step)) as [
      ReturnType<Variables["requestOf"]>,
      ReturnType<Variables["requestOf"]>,
    ]
    for (const { step: which, edits } of mutants) {
      if (which % script.steps.length !== index) continue
      const donorStep = script.steps[(which >> 8) % script.steps.length] ?? step
      const of = (at: 0 | 1): SentRequest => sentRequest(plain[at], edits, variables[at].requestOf(donorStep))
      await both([of(0), of(1)])
    }
    const answers = await both([sentRequest(plain[0], [], plain[0]), sentRequest(plain[1], [], plain[1])])
    for (const at of [0, 1] as const) if (answers !== undefined) variables[at].capture(step, answers[at].body)
  }
  return { sent, differences }
}

/** Runs something while both servers have that namespace, with what controllers put there. */
export const withNamespace = async <Value>(
  targets: ReadonlyArray<Connection>,
  namespace: string,
  run: () => Promise<Value>,
): Promise<Value> => {
  const namespaces = "/api/v1/namespaces"
  const body = Buffer.from(JSON.stringify({ metadata: { name: namespace } }))
  const plain = { headers: { "content-type": "application/json" }, cutAt: undefined }
  for (const target of targets) {
    await answered(target, { ...plain, method: "POST", path: namespaces, body })
    const account = {
      ...plain,
      method: "GET",
      path: `${namespaces}/${namespace}/serviceaccounts/default`,
      body: undefined,
    }
    while ((await answered(target, account)).status !== 200) await sleep(30)
  }
  try {
    return await run()
  } finally {
    for (const target of targets)
      await answered(target, { ...plain, method: "DELETE", path: `${namespaces}/${namespace}`, body: undefined })
  }
}
