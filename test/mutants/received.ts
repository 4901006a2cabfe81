/** The bytes of one HTTP/1.1 response, read with none of our own protocol code. */

export class Received {
  readonly #method: string
  readonly #parts: Buffer[] = []
  #isEnded = false

  constructor(method: string) {
    this.#method = method
  }

  push(part: Buffer): void {
    this.#parts.push(part)
  }

  /** The connection has ended. */
  end(): void {
    this.#isEnded = true
  }

  get text(): string {
    const text = Buffer.concat(this.#parts).toString()
    return text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "")
  }

  /** 0 if there is no head yet. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.text)?.[1] ?? 0)
  }

  get head(): string {
    const { text } = this
    const end = text.indexOf("\r\n\r\n")
    return end < 0 ? "" : text.slice(0, end)
  }

  /** Without the lengths of chunks. */
  get body(): string {
    const { text, head } = this
    const body = head === "" ? "" : text.slice(head.length + 4)
    return /\r\ntransfer-encoding: chunked/i.test(head) ? body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, "") : body
  }

  /** All of it has arrived. The server closes a connection after its response, unless a mutant asks for something else. */
  get isComplete(): boolean {
    if (this.#isEnded) return true
    const { head, status } = this
    if (head === "" || status === 101) return false
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (this.#method === "HEAD" || status === 304 || status === 204) return true
    return length === undefined
      ? Buffer.concat(this.#parts).toString("latin1").endsWith("\r\n0\r\n\r\n")
      : Buffer.concat(this.#parts).length >= Buffer.concat(this.#parts).indexOf("\r\n\r\n") + 4 + Number(length)
  }

  /** It has begun and has no end of its own: a watch. */
  get isStream(): boolean {
    return (
      this.head !== "" && !this.isComplete && (this.status === 101 || /\r\ntransfer-encoding: chunked/i.test(this.head))
    )
  }

  /** What no client could make sense of, or should see. */
  get problem(): string | undefined {
    const { head, body, status } = this
    if (this.#isEnded && head === "") return "the connection was closed without a response"
    if (/\n\s+at [^\n]*[:)]/.test(body)) return "a stack trace"
    const isJson = /\r\ncontent-type: application\/json/i.test(head) && !/\r\ncontent-encoding:/i.test(head)
    if (!isJson || this.#method === "HEAD" || !this.isComplete || /\r\ntransfer-encoding: chunked/i.test(head))
      return undefined
    try {
      const { kind, code } = JSON.parse(body) as { kind?: unknown; code?: unknown }
      return kind === "Status" && status >= 400 && code !== status
        ? `a Status with code ${code} in a ${status}`
        : undefined
    } catch {
      return "a body that is not JSON"
    }
  }
}
