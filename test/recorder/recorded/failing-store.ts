/** A server that speaks as much of S3 as a stream needs, honours its conditions, and does to requests what networks and overloaded servers do. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"

/** What becomes of one request. `lost`: it is done, and its answer does not arrive. */
export type Treatment = "well" | "cut" | "lost" | "refused" | "slow"

/** Keys that a list has in one page. */
const pageKeys = 5

export class FailingStore implements AsyncDisposable {
  readonly #objects = new Map<string, Buffer>()
  readonly #server: Server
  /** Decides about each request. */
  treat: () => Treatment = () => "well"
  /** How often each happened. */
  readonly seen: Record<Treatment, number> = { well: 0, cut: 0, lost: 0, refused: 0, slow: 0 }

  private constructor(server: Server) {
    this.#server = server
    server.on("request", (request, response) => {
      // What was sent to a connection that is gone has no reader.
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(): Promise<FailingStore> {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new FailingStore(server)
  }

  /** Variables with which the SDK finds it. */
  get environment(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      ...{ AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "some", AWS_SECRET_ACCESS_KEY: "secret" },
      ...{ AWS_CONFIG_FILE: "/dev/null", AWS_SHARED_CREDENTIALS_FILE: "/dev/null", AWS_EC2_METADATA_DISABLED: "true" },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, "close")
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const treatment = this.treat()
    this.seen[treatment]++
    if (treatment === "cut") return void response.destroy()
    const body = await buffer(request)
    if (treatment === "refused") return refuse(response, 503, "SlowDown")
    if (treatment === "slow") await new Promise((resolve) => setTimeout(resolve, 300))
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost")
    const answer = searchParams.has("list-type")
      ? this.#list(searchParams)
      : request.method === "PUT"
        ? this.#put(pathname, request.headers["if-none-match"] === "*", body)
        : this.#get(pathname, request.headers.range)
    if (treatment === "lost") return void response.destroy()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  #put(path: string, isNew: boolean, body: Buffer): Answer {
    if (isNew && this.#objects.has(path)) return failure(412, "PreconditionFailed")
    this.#objects.set(path, body)
    return { status: 200, headers: { ETag: tagOf(body) }, body: "" }
  }

  #get(path: string, range: string | undefined): Answer {
    const object = this.#objects.get(path)
    if (object === undefined) return failure(404, "NoSuchKey")
    const last = Number(/^bytes=-(\d+)$/.exec(range ?? "")?.[1] ?? Number.POSITIVE_INFINITY)
    const from = Math.max(0, object.length - last)
    const place = { "Content-Range": `bytes ${from}-${object.length - 1}/${object.length}` }
    return {
      status: range === undefined ? 200 : 206,
      headers: { ETag: tagOf(object), ...(range !== undefined && place) },
      body: object.subarray(from),
    }
  }

  #list(wanted: URLSearchParams): Answer {
    const prefix = `/bucket/${wanted.get("prefix") ?? ""}`
    const after = `/bucket/${wanted.get("continuation-token") ?? wanted.get("start-after") ?? ""}`
    const all = [...this.#objects.keys()].sort().filter((path) => path.startsWith(prefix) && path > after)
    const page = all.slice(0, pageKeys).map((path) => path.slice("/bucket/".length))
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><Size>${this.#objects.get(`/bucket/${key}`)?.length}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
    )
    const more = all.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ""
    const body = `<ListBucketResult><IsTruncated>${more !== ""}</IsTruncated>${more}${contents.join("")}</ListBucketResult>`
    return { status: 200, headers: xml, body }
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

const xml = { "Content-Type": "application/xml" }

const tagOf = (bytes: Buffer): string => `"${createHash("md5").update(bytes).digest("hex")}"`

const failure = (status: number, code: string): Answer => ({
  ...{ status, headers: xml, body: `<Error><Code>${code}</Code><Message>it says ${code}</Message></Error>` },
})

const refuse = (response: ServerResponse, status: number, code: string): void => {
  const { headers, body } = failure(status, code)
  response.writeHead(status, headers).end(body)
}
