/** A sandbox and a webhook server for a test. */

import { onTestFinished } from "vitest"
import type { Sandbox, SandboxOptions } from "../../../../src/library/sandbox.ts"
import { open } from "../../opened-sandbox.ts"
import { type ReviewAnswer, type ReviewRequest, WebhookServer } from "./webhook-server.ts"

export const start = async (
  answer: (path: string, request: ReviewRequest) => ReviewAnswer | Promise<ReviewAnswer>,
  options: SandboxOptions = {},
): Promise<{ readonly sandbox: Sandbox; readonly server: WebhookServer }> => {
  const server = await WebhookServer.start(answer)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const sandbox = await open({ bookmarkInterval: 0, ...options })
  return { sandbox, server }
}

export const configMap = (name: string, rest: object = {}) => ({ metadata: { name }, data: { k: "v" }, ...rest })
