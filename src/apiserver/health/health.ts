/**
 * `/healthz`, `/livez` and `/readyz`, a page for each of their checks, and the list of all checks for `?verbose`. All
 * of them pass whenever the server responds. The real server's further checks concern parts that this one does not
 * have.
 */
import { type Failure, pageNotFound } from "../answers/failure.ts"
import type { Exchange } from "../http/exchange.ts"
import { isServedBelow } from "../http/path-check.ts"
import type { HealthPage } from "../http/router.ts"
import type { WatchStream } from "../http/watch-stream.ts"
import type { Resource } from "../kinds/resources.ts"

const living: ReadonlyArray<string> = ["ping", "log", "etcd"]

const checks: Readonly<Record<HealthPage, ReadonlyArray<string>>> = {
  healthz: living,
  livez: living,
  readyz: [...living, "etcd-readiness", "informer-sync", "shutdown"],
}

/**
 * Answers the exchange, or returns the failure to send. `check`: what follows the name of the page; empty for all
 * checks.
 */
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

// `/metrics`, under the real server's names and labels, as far as dashboards for API servers apply here: requests by
// verb, kind and status, open watches, stored objects, and the process.

type Labels = Readonly<Record<string, string>>

/**
 * Counts requests whose response has begun; a watch counts from then on too. Their labels are few: verbs, kinds and
 * statuses.
 */
export class RequestCounts {
  readonly #counts = new Map<string, number>()

  count(exchange: Exchange, resource: Resource | undefined, status: number): void {
    const line = labelled("apiserver_request_total", labelsOf(exchange, resource, status))
    this.#counts.set(line, (this.#counts.get(line) ?? 0) + 1)
  }

  /** Sample lines, in the order of their labels. */
  samples(): ReadonlyArray<string> {
    return Array.from(this.#counts, ([line, count]) => `${line} ${count}`).sort()
  }
}

const labelsOf = (exchange: Exchange, resource: Resource | undefined, status: number): Labels => {
  const { route, verb, query, request, path } = exchange
  const isResource = route.type === "resource"
  return {
    code: String(status),
    component: isResource ? "apiserver" : "",
    dry_run: query.has("dryRun") ? "All" : "",
    group: resource?.gvk.group ?? "",
    resource: resource?.plural ?? "",
    scope: resource === undefined || !isResource ? "" : scopeOf(route),
    subresource: isResource ? subresourceOf(resource, route.subresource) : pageOf(path, status),
    verb: isResource ? (verbs[verb] ?? verb.toUpperCase()) : (request.method ?? ""),
    version: resource?.gvk.version ?? "",
  }
}

/** Empty for one that clients make up: every label that was ever counted is kept. */
const subresourceOf = (resource: Resource | undefined, subresource = ""): string =>
  resource !== undefined && isServedBelow(resource, subresource) ? subresource : ""

/** Only pages that exist, such as `/api/v1` and `/livez`, for the same reason. */
const pageOf = (path: string, status: number): string => (status < 400 && pages.test(path) ? path : "")

const pages = /^\/(?:apis?(?:\/[a-z0-9.]{1,63}){0,2}|healthz|livez|readyz|metrics|version|openapi\/v[23])$/

const scopeOf = ({ name, namespace }: { readonly name?: string; readonly namespace?: string }): string =>
  name !== undefined ? "resource" : namespace !== undefined ? "namespace" : "cluster"

const verbs: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  deletecollection: "DELETECOLLECTION",
}

/** The state at the moment of the request. */
interface MetricsState {
  readonly requests: RequestCounts
  readonly streams: Iterable<WatchStream>
  /** Objects of each kind; empty if the backend does not count. */
  readonly objects: Iterable<readonly [resource: Resource, count: number]>
  readonly gitVersion: string
}

/** The page in Prometheus' text format. */
export const metricsPage = ({ requests, streams, objects, gitVersion }: MetricsState): string => {
  const watches = new Map<string, number>()
  for (const { resource } of streams) {
    const { group, version } = resource.gvk
    const labels = { component: "apiserver", group, resource: resource.plural, verb: "WATCH", version }
    const line = labelled("apiserver_longrunning_requests", labels)
    watches.set(line, (watches.get(line) ?? 0) + 1)
  }
  const stored = Array.from(objects, ([{ gvk, plural }, count]) => {
    const line = labelled("apiserver_resource_objects", { group: gvk.group, resource: plural })
    return `${line} ${count}`
  })
  const started = Date.now() / 1000 - process.uptime()
  return [
    ...family("apiserver_request_total", "counter", "Counter of apiserver requests.", requests.samples()),
    ...family(
      "apiserver_longrunning_requests",
      "gauge",
      "Gauge of all active long-running apiserver requests.",
      Array.from(watches, ([line, count]) => `${line} ${count}`).sort(),
    ),
    ...family("apiserver_resource_objects", "gauge", "Number of stored objects split by kind.", stored.sort()),
    ...family("kubernetes_build_info", "gauge", "A metric with a constant '1' value.", [
      `${labelled("kubernetes_build_info", { git_version: gitVersion, major: "1", minor: "34" })} 1`,
    ]),
    ...family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", [
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    ]),
    ...family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.", [
      `process_start_time_seconds ${started.toFixed(2)}`,
    ]),
    "",
  ].join("\n")
}

const family = (
  name: string,
  type: "counter" | "gauge",
  help: string,
  samples: ReadonlyArray<string>,
): ReadonlyArray<string> =>
  samples.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples]

const labelled = (name: string, labels: Labels): string =>
  `${name}{${Object.entries(labels)
    .map(([key, value]) => `${key}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`)
    .join(",")}}`
