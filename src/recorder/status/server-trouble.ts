/**
 * Trouble that all kinds of a recorder share, because they share one server and one user: it is reported once, not once per kind.
 */
import { type ConnectionCause, causeIn } from "../../kube/index.ts"
import { isRefusedCredentials } from "./trouble-advice.ts"

/** One trouble of the server or of the credentials. */
export interface ServerTrouble {
  /** What distinguishes it from another; equal for all kinds. */
  readonly cause: ConnectionCause | "credentials"
  /** What is wrong, as the beginning of a sentence that ends with `detail`. */
  readonly subject: string
  /** The reason with its advice, without what a kind was doing at that moment. */
  readonly detail: string
}

/** What the watch protocol was doing, such as `list: `, and the end of a stream that failed by itself. */
const activity =
  /^(?:[a-z]+: )?(?:the (?:streaming-list|paging) ended early: |the watch ended after \d+ ms without an event: )?/

/** The trouble of the server that is the reason of a kind's state; `undefined` if the reason concerns the kind alone. */
export const serverTrouble = (reason: string): ServerTrouble | undefined => {
  const detail = reason.replace(activity, "")
  if (isRefusedCredentials(reason))
    return { cause: "credentials", subject: "the API server does not accept the credentials", detail }
  const cause = causeIn(reason)
  if (cause === undefined) return undefined
  const subject = cause === "lost" ? "the connection to the API server was lost" : "the API server cannot be reached"
  return { cause, subject, detail }
}
