/**
 * What a program asked of the sandbox: the source of the table in docs/guides/sandbox.md. Printed with `KUBEREEL_TEST_REQUESTS=1`, one line
 * for each resource with its verbs and the statuses of refusals.
 */

import { appendFileSync } from "node:fs"
import { expect } from "vitest"
import { discoveryScope, type RequestEntry } from "../../src/apiserver/index.ts"

/** The path of a file, to which the reports are appended. */
const reportVariable = "KUBEREEL_TEST_REQUESTS"

/** Those of the sandbox's own controllers and of the test. */
const ownAgents = /^(kubereel|test$)/

export const reportRequests = (entries: ReadonlyArray<RequestEntry>): void => {
  const path = process.env[reportVariable]
  if (path === undefined) return
  const verbs = new Map<string, Set<string>>()
  for (const { resource, path, verb, status, userAgent } of entries) {
    if (ownAgents.test(userAgent)) continue
    const key = resource === discoveryScope ? path : resource
    const refused = status >= 300 ? ` (${status})` : ""
    verbs.set(key, (verbs.get(key) ?? new Set()).add(verb + refused))
  }
  const lines = [...verbs].map(([key, of]) => `  ${key}: ${[...of].join(", ")}`)
  appendFileSync(path, `${[expect.getState().currentTestName, ...lines.sort()].join("\n")}\n`)
}
