/** A sandbox and a webhook server for a test, whose file calls `afterEach(closeStarted)`. */

import { Sandbox, type SandboxOptions } from "../../../../src/library/sandbox.ts"
import { type ReviewAnswer, type ReviewRequest, WebhookServer } from "./webhook-server.ts"

const opened: AsyncDisposable[] = []

export const closeStarted = async (): Promise<void> => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]()
}

export const start = async (
  answer: (path: string, request: ReviewRequest) => ReviewAnswer | Promise<ReviewAnswer>,
  options: SandboxOptions = {},
): Promise<{ readonly sandbox: Sandbox; readonly server: WebhookServer }> => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0, ...options })
  const server = await WebhookServer.start(answer)
  opened.push(sandbox, server)
  return { sandbox, server }
}

export const configMap = (name: string, rest: object = {}) => ({ metadata: { name }, data: { k: "v" }, ...rest })
