/** Why the recorder cannot listen on an address, and what to do about it. */
import * as Schema from "effect/Schema"

/** The address is in use, or listening on it is not permitted. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  host: Schema.String,
  port: Schema.Number,
  code: Schema.String,
}) {
  override get message(): string {
    const where = `${bracketed(this.host)}:${this.port}`
    switch (this.code) {
      case "EADDRINUSE":
        return `port ${this.port} on ${this.host} is in use; choose another with --listen (port 0 is any free one)`
      case "EACCES":
        return `listening on ${where} is not permitted; choose a port above 1023 with --listen`
      case "EADDRNOTAVAIL":
      case "EINVAL":
        return `${this.host} is not an address of this machine; choose one with --listen`
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return `host ${this.host} not found; choose an address of this machine with --listen`
      default:
        return `cannot listen on ${where}: ${this.code}`
    }
  }
}

/** An IPv6 address as in URLs. */
export const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host)
