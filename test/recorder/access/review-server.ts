/** An API server that serves only reviews, over real HTTP, with scripted responses, and stores the requests. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface ReviewQuestion {
  readonly path: string
  readonly authorization: string | undefined
  readonly spec: Readonly<Record<string, unknown>>
}

/** `status` of a review, or a response of another kind. */
export type ReviewReply = { readonly status: object } | { readonly code: number; readonly body: string } | "nothing"

export class ReviewServer {
  readonly url: string
  readonly questions: ReviewQuestion[] = []
  readonly #close: () => Promise<void>

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  static async start(reply: (question: ReviewQuestion) => ReviewReply): Promise<ReviewServer> {
    let started: ReviewServer | undefined
    const server = createServer((request, response) => {
      void readJson(request).then((body) => {
        const question = { path: request.url ?? "", authorization: request.headers.authorization, spec: body.spec }
        started?.questions.push(question)
        send(response, body, reply(question))
      })
    })
    const url = await new Promise<string>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
    })
    started = new ReviewServer(
      url,
      () =>
        new Promise((resolve) => {
          server.close(() => resolve())
          server.closeAllConnections()
        }),
    )
    return started
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}

const readJson = async (request: IncomingMessage): Promise<Pick<ReviewQuestion, "spec">> => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return JSON.parse(Buffer.concat(pieces).toString("utf8")) as Pick<ReviewQuestion, "spec">
}

const send = (response: ServerResponse, body: object, reply: ReviewReply): void => {
  if (reply === "nothing") return
  response.setHeader("Content-Type", "application/json")
  if ("code" in reply) response.writeHead(reply.code).end(reply.body)
  else response.writeHead(201).end(JSON.stringify({ ...body, status: reply.status }))
}
