/**
 * `/healthz`, `/livez` and `/readyz`, each of their checks by its name, and the list of them for `?verbose`. A server that answers is healthy:
 * the checks that there are all pass. The real server's further ones are about parts that this one does not have.
 */

import { type Failure, pageNotFound } from "../answers/failure.ts"
import type { Exchange } from "../http/exchange.ts"

export type HealthPage = "healthz" | "livez" | "readyz"

const living: ReadonlyArray<string> = ["ping", "log", "etcd"]

const checks: Readonly<Record<HealthPage, ReadonlyArray<string>>> = {
  healthz: living,
  livez: living,
  readyz: [...living, "etcd-readiness", "informer-sync", "shutdown"],
}

/** `check`: what follows the name of the page; empty for all checks. */
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
