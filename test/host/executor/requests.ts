import type { GuestRequest, GuestResponse } from "../../../src/host/guest/abi-values.ts"

/** A request as a module would send it; headers as text. */
export const guestRequest = (
  method: string,
  uri: string,
  options: { readonly headers?: Readonly<Record<string, string | string[]>>; readonly body?: string | Uint8Array } = {},
): GuestRequest => ({
  method,
  uri,
  headers: new Map(
    Object.entries(options.headers ?? {}).map(([name, values]) => [
      name,
      [values].flat().map((one) => Buffer.from(one)),
    ]),
  ),
  body: Buffer.from(options.body ?? ""),
})

/** The body of an answer as an object. */
export const bodyOf = (response: GuestResponse): Record<string, unknown> =>
  JSON.parse(Buffer.from(response.body).toString()) as Record<string, unknown>

/** Code and message of a Status that the executor made itself. */
export const statusOf = (response: GuestResponse): string => {
  const { kind, code, message } = bodyOf(response)
  if (kind !== "Status" || code !== response.status) throw new Error(`not a Status of ${response.status}`)
  return `${code} ${message}`
}
