/**
 * One request of a module at the API server.
 *
 * Never rejects: what goes wrong is an answer with a `Status`. After a 401 the credentials are fetched anew and the request is sent once
 * more, whatever its method, because a server that answers 401 has not acted. Nothing else is repeated: the module decides.
 */

import {
  type CollectedResponse,
  describeFailure,
  type HttpRequest,
  type RequestFailure,
  sendOnce,
  type Transport,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import type { GuestResponse } from "../guest/abi-values.ts"
import { guestResponse, statusAnswer } from "./guest-request.ts"

/** A connection with the identity of one module; an `ApiConnection` is one. */
export interface ModuleConnection {
  /** With the current credentials. Rejects with why there are none. */
  transport(): Promise<Transport>
  /** After a 401: fetches fresh credentials; false if they did not change. Rejects with why there are none. */
  refresh(): Promise<boolean>
  /** Aborts what runs; later requests fail. */
  close(): void
}

interface SendOptions {
  /** Bytes of the response's body. */
  readonly maximumBytes: number
  /** Aborts the request; its answer is then of no interest. The caller's own time limit is the only one. */
  readonly signal: AbortSignal
}

/** An answer, and whether it is a response of the API server, or of something in front of it. */
interface SentAnswer {
  readonly answer: GuestResponse
  readonly isOfServer: boolean
}

export const sendAs = async (
  connection: ModuleConnection,
  request: HttpRequest,
  options: SendOptions,
): Promise<SentAnswer> => {
  try {
    const first = await exchange(connection, request, options)
    if (first.tag !== "response" || first.status !== 401 || options.signal.aborted) return answerOf(first)
    return answerOf((await connection.refresh()) ? await exchange(connection, request, options) : first)
  } catch (cause) {
    const message = `no credentials for the API server: ${messageOf(cause)}; the request was not carried out`
    return { answer: statusAnswer(503, message), isOfServer: false }
  }
}

const exchange = async (
  connection: ModuleConnection,
  { headers, ...request }: HttpRequest,
  { maximumBytes, signal }: SendOptions,
): Promise<CollectedResponse | RequestFailure> => {
  const transport = await connection.transport()
  if (signal.aborted) return { tag: "failed", end: { tag: "aborted" } }
  return sendOnce(transport, request, { headers, maximumBytes, signal, timers: noTimers })
}

const noTimers = { after: () => ({ cancel: (): void => undefined }) }

const answerOf = (outcome: CollectedResponse | RequestFailure): SentAnswer => {
  if (outcome.tag === "response") {
    return { answer: guestResponse(outcome.status, outcome.headers, outcome.body), isOfServer: true }
  }
  const advice =
    outcome.tag === "too-large"
      ? "ask for less, such as a page with limit and continue"
      : "it may have been carried out"
  const message = `no response of the API server: ${describeFailure(outcome)}; ${advice}`
  return { answer: statusAnswer(503, message), isOfServer: false }
}
