/**
 * `/healthz`, `/livez` and `/readyz`, a page for each of their checks, and the list of all checks for `?verbose`. All of them pass whenever the server
 * responds. The real server's further checks concern parts that this one does not have.
 */

import { type Failure, pageNotFound } from "../answers/failure.ts"
import type { Exchange } from "../http/exchange.ts"
import type { HealthPage } from "../http/router.ts"

const living: ReadonlyArray<string> = ["ping", "log", "etcd"]

const checks: Readonly<Record<HealthPage, ReadonlyArray<string>>> = {
  healthz: living,
  livez: living,
  readyz: [...living, "etcd-readiness", "informer-sync", "shutdown"],
}

/** Answers the exchange, or returns the failure to send. `check`: what follows the name of the page; empty for all checks. */
export const answerHealth = (exchange: Exchange, page: HealthPage, check: string): Failure | undefined => {
  if (check !== "") {
    if (!checks[page].includes(check)) return pageNotFound
    exchange.plain("ok")
    return undefined
  }
  const excluded = exchange.query.getAll("exclude")
  exchange.plain(exchange.query.has("verbose") ? report(page, excluded) : "ok")
  return undefined
}

const report = (page: HealthPage, excluded: ReadonlyArray<string>): string => {
  const unknown = excluded.filter((name) => !checks[page].includes(name))
  const lines = [
    ...checks[page].map((name) => `[+]${name} ${excluded.includes(name) ? "excluded: ok" : "ok"}`),
    ...(unknown.length === 0
      ? []
      : [`warn: some health checks cannot be excluded: no matches for ${unknown.map(quoted).join(", ")}`]),
    `${page} check passed`,
  ]
  return `${lines.join("\n")}\n`
}

const quoted = (name: string): string => JSON.stringify(name)
