/**
 * The failures with 500 and above that are the server's decision: the real server gives them for the same mistakes of clients, because its code
 * does not classify them. test/cluster/conformance compares them. Everything else from 500 on is a defect.
 */
import { parse } from "yaml"

const messages: ReadonlyArray<readonly [status: number, message: RegExp]> = [
  // A configuration that is applied, and has fields or values that its kind has not.
  [500, /^the configuration .* does not fit its type: /s],
  // Strategic merge patches.
  [
    500,
    /^(an item lacks the merge key |expected (a list|an object)|the items (of a list|are not)|unknown \$patch directive)/,
  ],
  [500, /^(cannot merge lists|merging lists|no elements in any|no field ".*" in )/s],
  // The target of a binding.
  [500, /^\[?target\.(kind|name): /],
  // Options of a deletion.
  [500, /^the options are not (JSON: |an object$)/],
  [500, /^(a protobuf message must begin|proto: |the bytes end too early|exceeded max depth|raw JSON: )/],
  [500, /^no kind ".*" is known in version ".*"$/s],
  // What a sandbox has not, and says so.
  [501, /^the sandbox does not implement this: /],
  // Versions that are none.
  [500, /^resourceVersion: Invalid value: /],
  [500, /^resourceVersion should not be set on objects to be created$/],
  [500, /^strconv\.ParseUint: parsing /],
  [504, /^Timeout: Too large resource version: /],
]

/** Whether the real server fails like this as well. `body`: of the response. */
export const isKnownFailure = (status: number, body: string): boolean => {
  const message = messageOf(body)
  return messages.some(([code, pattern]) => code === status && pattern.test(message))
}

const messageOf = (body: string): string => {
  // Also JSON; the few responses that are plain text are their own message.
  const status: unknown = body.startsWith("{") || body.startsWith("apiVersion:") ? parse(body) : {}
  return String((status as { readonly message?: unknown }).message ?? body)
}
