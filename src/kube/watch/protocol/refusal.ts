/**
 * The meaning of a Status for a list or watch, whether it came as an HTTP status or inside a 200 stream (rule 3: both are treated alike).
 */
import type { ApiStatus } from "../../status.ts"

type Refusal =
  /** The version is older than the server keeps (410 Expired, Gone). */
  | "expired"
  /** The version is newer than the server has reached. */
  | "too-large"
  /** `sendInitialEvents` is not supported (rule 2). */
  | "no-streaming-list"
  | "unauthorized"
  | "forbidden"
  /** The resource does not exist: its CRD was removed. */
  | "not-found"
  /** Anything that may pass with time: 429, 5xx, lost connections. */
  | "transient"

export const classify = (status: ApiStatus): Refusal => {
  // client-go's isTooLargeResourceVersionError: the cause names it; older servers have only the message.
  if (status.causes.some((cause) => cause.reason === "ResourceVersionTooLarge")) return "too-large"
  if (/too large resource version/i.test(status.message)) return "too-large"
  if (status.code === 410 || status.reason === "Expired" || status.reason === "Gone") return "expired"
  if (status.code === 401) return "unauthorized"
  if (status.code === 403) return "forbidden"
  if (status.code === 404) return "not-found"
  if (status.code === 422 || status.code === 400) {
    const named = status.causes.map((cause) => `${cause.field ?? ""} ${cause.message ?? ""}`).join(" ")
    if (/sendInitialEvents/.test(`${status.message} ${named}`)) return "no-streaming-list"
    // An invalid or outdated continue token: restart the list.
    if (/continue/i.test(status.message)) return "expired"
  }
  return "transient"
}
