/** Refused credentials, in one sentence with what to do, for every command that talks to a cluster. Their exit code is 4. */
import {
  type ApiEndpoint,
  ApiUnreachableError,
  describeExpired,
  describeFailure,
  type EndpointSource,
  HttpClient,
  requestOnce,
  statusOfResponse,
  UnauthorizedError,
} from "../../kube/index.ts"
import { credentialsAdvice, isRefusedCertificate, withConnectionAdvice } from "../../recorder/index.ts"
import { CommandFailed, exitCodes } from "./exit-codes.ts"

/** What can be done about a connection that fails. Passed on, because this module is loaded with the first failure and the recorder with it. */
export { withConnectionAdvice } from "../../recorder/index.ts"

/** Whether the server refused the credentials, with a 401 or in the handshake. */
export const isRefusedError = (error: unknown): error is UnauthorizedError | ApiUnreachableError =>
  error instanceof UnauthorizedError || (error instanceof ApiUnreachableError && isRefusedCertificate(error.detail))

/** `detail`: the server's words, or those of the connection. */
export const describeRefused = (detail: string, endpoint: ApiEndpoint | undefined, nowMs = Date.now()): string => {
  if (isRefusedCertificate(detail)) return withConnectionAdvice(detail)
  const expired = endpoint && describeExpired(endpoint, nowMs)
  return `the API server does not accept the credentials${expired === undefined ? "" : ` (${expired})`}: ${detail}; ${credentialsAdvice}`
}

/** ms. A server that does not respond is left to the requests that follow, which retry. */
const deadlineMs = 5000

/**
 * Asks the server once whether it accepts the credentials, for commands that retry for ever and would never say so. Rejects with CommandFailed if it refuses
 * them, even fresh ones, and as `endpoint()` does; resolves if it accepts them or does not respond now.
 */
export const expectAccepted = async (credentials: EndpointSource, userAgent: string): Promise<void> => {
  if ((await ask(credentials, userAgent)) === undefined) return
  // Those of a plugin may be cached and out of date.
  await credentials.onUnauthorized()
  const refused = await ask(credentials, userAgent)
  if (refused !== undefined) throw new CommandFailed(refused, exitCodes.notPermitted)
}

const ask = async (credentials: EndpointSource, userAgent: string): Promise<string | undefined> => {
  const endpoint = await credentials.endpoint()
  const client = new HttpClient(endpoint, { userAgent, connectTimeoutMs: deadlineMs })
  try {
    const outcome = await requestOnce(client, "/version", { deadlineMs })
    if (outcome.tag !== "response") {
      const detail = describeFailure(outcome)
      return isRefusedCertificate(detail) ? describeRefused(detail, endpoint) : undefined
    }
    if (outcome.status !== 401) return undefined
    return describeRefused(statusOfResponse(outcome.status, outcome.headers, outcome.body).message, endpoint)
  } finally {
    client.close()
  }
}
