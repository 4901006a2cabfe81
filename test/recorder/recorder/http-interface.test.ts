/** The recorder's HTTP interface and anything that may connect to a port. */
import { readFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { gunzipSync, zstdDecompressSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { formatOfBytes } from "../../../src/trace/index.ts"
import { parsePrometheusText } from "./prometheus-text.ts"
import { everything, type RecorderProcess, Workplace } from "./recorder-command.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.faults.respond("secrets", 403)
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{trackLifecycle: true}", "v1.ServiceAccount": "{}" },
  })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const status = async (body: unknown): Promise<readonly [number, string]> => {
  const answer = await recorder.post(body)
  return [answer.status, await answer.text()]
}

test("readiness is 503 while a first list is in progress, and 200 with every kind named afterwards", async () => {
  await using other = new Workplace()
  await using slow = await Sandbox.start()
  slow.faults.stall("configmaps")
  const starting = other.record({
    cluster: { server: slow.url },
    kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" },
  })
  await starting.inState("apps/v1.Deployment", /watching/)
  expect(await starting.get("/readyz")).toMatchObject({ status: 503, text: expect.stringContaining("not ready") })
  expect(await starting.get("/healthz")).toMatchObject({ status: 200, text: "ok\n" })
  const verbose = await starting.get("/readyz?verbose")
  expect(verbose).toMatchObject({ status: 503, text: expect.stringMatching(/^\[-\]v1\.ConfigMap listing: /m) })
  expect(verbose.text).toMatch(/^\[\+\]apps\/v1\.Deployment watching: /m)
  expect(verbose.text).toMatch(/readyz check failed\n$/)
  expect(await starting.metric("kubereel_ready")).toBe(0)
  slow.faults.resume()
  await starting.ready()
  expect((await starting.get("/readyz")).text).toBe("ok\n")
  expect((await starting.get("/readyz?verbose")).text).toMatch(/readyz check passed\n$/)
  expect(await starting.metric("kubereel_ready")).toBe(1)
})

test("/metrics is valid for Prometheus, with the documented names", async () => {
  const answer = await recorder.get("/metrics")
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  const samples = parsePrometheusText(answer.text)
  const names = new Set(samples.map(({ name }) => name))
  for (const name of [
    "kubereel_ready",
    "kubereel_kind_state",
    "kubereel_kind_received_total",
    "kubereel_kind_late_total",
    "kubereel_kind_gaps_total",
    "kubereel_store_events_total",
    "kubereel_store_failing",
    "kubereel_actor_restarts_total",
    "kubereel_mailbox_unacknowledged_bytes",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
  ]) {
    expect(names).toContain(name)
  }
  const states = samples.filter(({ name, labels }) => name === "kubereel_kind_state" && labels.kind === "v1.ConfigMap")
  expect(states.filter(({ value }) => value === 1).map(({ labels }) => labels.state)).toEqual(["watching"])
})

test("every metric is in the reference, and the reference names no other", async () => {
  const page = readFileSync(new URL("../../../docs/reference/http-api.md", import.meta.url), "utf8")
  const named = page
    .split("\n")
    .filter((line) => /^\| `(kubereel|process)_/.test(line))
    .flatMap((line) => namesIn(line.split("|")[1] ?? ""))
  const served = (await recorder.get("/metrics")).text
    .split("\n")
    .flatMap((line) => line.match(/^# TYPE (\S+)/)?.[1] ?? [])
  // What has no samples is not served: nothing is recorded namespace by namespace here, no value was redacted, there is no Lease, no audit webhook, no --pin-export-to and no --archive-to; a replica serves its own.
  const ofAudit = [
    "batches_total",
    "events_total",
    "unreadable_events_total",
    "writes_total",
    "last_batch_timestamp_seconds",
  ]
  const others = ["kubereel_kind_namespace_state", "kubereel_redacted_values_total", "kubereel_leader"]
  const ofPins = ["kubereel_pin_exports_total", "kubereel_pin_export_failures_total"]
  const ofArchive = ["lag_seconds", "failing", "segments_total", "segment", "epoch"].map(
    (name) => `kubereel_archive_${name}`,
  )
  const ofReplica = ["shards", "shards_owned", "replicas_alive", "shard_ends_total"].map((name) => `kubereel_${name}`)
  const empty = [...others, ...ofPins, ...ofArchive, ...ofReplica, ...ofAudit.map((name) => `kubereel_audit_${name}`)]
  expect(new Set(named)).toEqual(new Set([...served, ...empty]))
})

/** `a_b_total`, `…_c_{x,y}` means a_b_total, a_c_x and a_c_y, where `a` is the first name without its last words. */
const namesIn = (cell: string): ReadonlyArray<string> => {
  const [first = "", ...rest] = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) =>
    name.replace(/(?<!_)\{.*\}$/, ""),
  )
  const stem = first.match(/^kubereel_(kind|store|actor|mailbox)/)?.[0] ?? ""
  return [first, ...rest].flatMap((name) => {
    const whole = name.replace(/^…/, stem)
    const choices = whole.match(/\{(.*)\}/)
    return choices === null ? [whole] : (choices[1] ?? "").split(",").map((each) => whole.replace(choices[0], each))
  })
}

test("the check of /metrics finds mistakes, and awkward labels and values are correct", () => {
  const labels = { kind: 'a"b\\c\nd', state: "" }
  const text = formatMetrics([
    { name: "a", help: "back\\slash\nand line", type: "gauge", samples: [{ labels, value: Number.POSITIVE_INFINITY }] },
    { name: "b_total", help: "b", type: "counter", samples: [{ value: 1e21 }, { labels, value: 1e-7 }] },
  ])
  expect(parsePrometheusText(text)).toEqual([
    { name: "a", labels, value: Number.POSITIVE_INFINITY },
    { name: "b_total", labels: {}, value: 1e21 },
    { name: "b_total", labels, value: 1e-7 },
  ])
  const good = "# HELP a b\n# TYPE a counter\na 1\n"
  expect(parsePrometheusText(good)).toHaveLength(1)
  for (const bad of [
    good.trimEnd(),
    "a 1\n",
    `${good}a 2\n`,
    `${good}${good}`,
    good.replace("1\n", "-1\n"),
    good.replace("1\n", "Infinity\n"),
    good.replace("a 1", 'a{x="1",} 1'),
    good.replace("a 1", 'a{x="1"y="2"} 1'),
    good.replace("a 1", 'a{x="\\t"} 1'),
    good.replace("a 1", "b 1"),
  ]) {
    expect(() => parsePrometheusText(bad), bad).toThrow()
  }
})

test("an invalid export request gets a response that names the mistake", async () => {
  const request = everything("ndjson")
  expect(await status("{")).toEqual([400, expect.stringMatching(/^the body is not JSON: /)])
  expect(await status("")).toEqual([400, expect.stringMatching(/^the body is not JSON: /)])
  expect(await status("null")).toEqual([400, "not an export request: Expected object\n"])
  expect(await status({ start_ts: 1.5, filters: request.filters })).toEqual([
    400,
    'not an export request: Expected an integer at ["start_ts"]; Missing key at ["end_ts"]; Missing key at ["export_path"]\n',
  ])
  expect(await status({ ...request, format: "parquet" })).toEqual([400, expect.stringContaining('at ["format"]')])
  expect(await status({ ...request, anything: "else" })).toEqual([400, expect.stringContaining('["anything"]')])
  expect(await status({ ...request, filters: { ...request.filters, namespace: ["shop"] } })).toEqual([
    400,
    expect.stringContaining('["filters"]["namespace"]'),
  ])
  expect(await status({ ...request, start_ts: 10, end_ts: 5 })).toEqual([
    400,
    "the window ends at 5000000 µs, before it starts at 10000000 µs\n",
  ])
  const excluding = (selector: unknown) => ({
    ...request,
    filters: { ...request.filters, excluded_labels: [selector] },
  })
  expect(await status(excluding({ matchExpressions: [{ key: "app", operator: "Near" }] }))).toEqual([
    400,
    'excluded_labels[0].matchExpressions[0]: operator "Near"; allowed: In, NotIn, Exists, DoesNotExist\n',
  ])
  expect(await status(excluding("app in ("))).toEqual([400, expect.stringContaining("excluded_labels[0]")])
  expect(await status({ ...request, export_path: "az://bucket/trace" })).toEqual([
    400,
    expect.stringContaining("write azure://CONTAINER/KEY"),
  ])
})

test("an empty window is an empty trace", async () => {
  const [code, text] = await status({ ...everything("ndjson"), start_time: 5, end_time: 5 })
  expect(code).toBe(200)
  expect(text.split("\n").filter((line) => line.includes('"action"'))).toEqual([])
})

test("the format is that of the request, else of Accept, else of the file name, else SimKube's", async () => {
  const { format: _, ...bare } = everything("ndjson")
  const asked = async (more: object, accept = "*/*") => {
    const url = `${await recorder.listening()}/export`
    const body = JSON.stringify({ ...bare, ...more })
    const answer = await fetch(url, { method: "POST", body, headers: { Accept: accept } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const plain = bytes[0] === 0x28 ? zstdDecompressSync(bytes) : bytes[0] === 0x1f ? gunzipSync(bytes) : bytes
    return [answer.status, answer.headers.get("content-type"), formatOfBytes(plain)]
  }
  const text = "application/x-ndjson"
  expect(await asked({})).toEqual([200, "application/octet-stream", "simkube"])
  expect(await asked({}, "application/json, */*")).toEqual([200, "application/octet-stream", "simkube"])
  expect(await asked({}, text)).toEqual([200, text, "ndjson"])
  expect(await asked({ format: "ndjson" }, "application/yaml")).toEqual([200, text, "ndjson"])
  expect(await asked({ export_path: "/data/trace.ndjson" })).toEqual([200, text, "ndjson"])
  expect(await asked({ export_path: "/data/trace.ndjson.zst" })).toEqual([200, "application/zstd", "ndjson"])
  expect(await asked({ format: "ndjson", compression: "gzip" })).toEqual([200, "application/gzip", "ndjson"])
})

test("W-19: no object store is written to without the operator's permission, for any spelling of its address", async () => {
  for (const export_path of [
    "s3://bucket/trace",
    "S3://bucket/trace",
    "gs://bucket/trace",
    "azure://bucket/trace",
    "https://bucket.s3.eu-central-1.amazonaws.com/trace",
  ]) {
    expect(await status({ ...everything("ndjson"), export_path })).toEqual([
      403,
      expect.stringMatching(/^this recorder may not write to \S+bucket\S*; .* --allow-target\n$/),
    ])
  }
})

test("a response has the ID of its request, the client's own if it is safe for a log", async () => {
  const named = async (name: string) => {
    const answer = await fetch(`${await recorder.listening()}/metrics`, { headers: { "kubereel-request-id": name } })
    return answer.headers.get("kubereel-request-id")
  }
  expect(await named("monday-1.2_3")).toBe("monday-1.2_3")
  for (const name of ["", "two words", "x".repeat(65)]) expect(await named(name)).toMatch(/^[0-9a-f-]{36}$/)
})

test("a body above one mebibyte is rejected, one of exactly that is read, and the next request is served", async () => {
  const limit = 1024 * 1024
  const text = JSON.stringify(everything("ndjson"))
  expect(await status(text.padEnd(limit))).toEqual([200, expect.stringContaining('"end"')])
  expect(await status(text.padEnd(limit + 1))).toEqual([413, `the body may have at most ${limit} bytes\n`])
  expect(await status(text.padEnd(8 * limit))).toEqual([413, expect.stringContaining("at most")])
  expect((await recorder.get("/healthz")).status).toBe(200)
})

test("other methods and paths get a response that names what exists", async () => {
  const url = await recorder.listening()
  const ask = async (method: string, path: string) => {
    const { status, headers } = await fetch(url + path, { method })
    return [status, headers.get("allow")]
  }
  expect(await ask("GET", "/export")).toEqual([405, "POST"])
  expect(await ask("DELETE", "/metrics")).toEqual([405, "GET, HEAD"])
  expect(await ask("POST", "/readyz")).toEqual([405, "GET, HEAD"])
  expect(await ask("HEAD", "/healthz")).toEqual([200, null])
  expect(await ask("GET", "/")).toEqual([404, null])
})

describe("a broken connection affects no other", () => {
  /** The bytes received until the connection closes, or until `until` matches. */
  const talk = async (text: string, until: RegExp): Promise<string> => {
    const { port } = new URL(await recorder.listening())
    return new Promise((resolve) => {
      let answer = ""
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text))
      socket.on("data", (piece) => {
        answer += piece
        if (until.test(answer)) socket.destroy()
      })
      // A rejection may arrive as a reset: the server need not read everything.
      socket.on("error", () => socket.destroy())
      socket.on("close", () => resolve(answer))
    })
  }

  test.each([
    // It once ended the recorder, outside of any request's own error handling.
    ["a target that is no URL", "GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", /404 Not Found/],
    ["two slashes", "GET // HTTP/1.1\r\nHost: x\r\n\r\n", /404 Not Found/],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", /404 Not Found/],
    ["no HTTP at all", "\u0000\u0001\u0002 hello\r\n\r\n", /400 Bad Request/],
  ])("%s", async (_, text, answer) => {
    expect(await talk(text, answer)).toMatch(answer)
    expect((await recorder.get("/healthz")).status).toBe(200)
  })

  test("a request that is aborted midway", async () => {
    const { port } = new URL(await recorder.listening())
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => {
        socket.end("POST /export HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        socket.resume()
      })
      socket.on("close", () => resolve())
    })
    expect((await recorder.get("/healthz")).status).toBe(200)
  })
})

test("a response for a replay says at its end how many changes it lacks because they change nothing there", async () => {
  const web = (replicas: number, step: number) => ({
    metadata: { namespace: "unchanged", name: "web", finalizers: [`example.com/step-${step}`] },
    spec: { replicas },
  })
  for (const [step, replicas] of [1, 1, 2, 2, 2].entries()) sandbox.put("apps/v1.Deployment", web(replicas, step))
  const filters = { ...everything("ndjson").filters, namespaces: ["unchanged"] }
  const trailerOf = async (more: object): Promise<string | undefined> => {
    const { port } = new URL(await recorder.listening())
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ port, path: "/export", method: "POST" }, (response) => {
        response.resume()
        response.on("end", () => resolve(response.trailers["kubereel-unchanged"]))
      })
      sent.on("error", reject)
      sent.end(JSON.stringify({ ...everything("ndjson"), filters, ...more }))
    })
  }
  await expect.poll(() => trailerOf({ format: "simkube" })).toBe("3")
  expect(await trailerOf({ format: "kwok" })).toBe("3")
  expect(await trailerOf({ format: "ndjson", sanitise: "replay" })).toBe("3")
  expect(await trailerOf({ format: "ndjson" })).toBeUndefined()
})

test("the page in one file is an export too, with every change as it was recorded", async () => {
  sandbox.put("apps/v1.Deployment", { metadata: { namespace: "one-file", name: "web" }, spec: { replicas: 1 } })
  const eventsIn = async (): Promise<number> => {
    const answer = await recorder.post({ ...everything("ndjson"), format: "html" })
    const { headers, status } = answer
    expect([status, headers.get("content-type"), headers.get("kubereel-removed")]).toEqual([
      ...[200, "text/html; charset=utf-8", null],
    ])
    return JSON.parse(/id="facts">(.*?)<\/script>/.exec(await answer.text())?.[1] ?? "").events
  }
  await expect.poll(eventsIn).toBeGreaterThan(0)
  await expect
    .poll(async () => {
      const trace = await (await recorder.post(everything("ndjson"))).text()
      return trace.split("\n").filter((line) => line.includes('"action":')).length - (await eventsIn())
    })
    .toBe(0)
  expect((await recorder.post({ ...everything("ndjson"), format: "html", sanitise: "replay" })).status).toBe(400)
})

test("a response names the fields removed from objects, and NDJSON for replay lacks them", async () => {
  const removed = async (more: object): Promise<string | null> => {
    const answer = await recorder.post({ ...everything("ndjson"), ...more })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    return answer.headers.get("kubereel-removed")
  }
  expect(await removed({ format: "ndjson" })).toBeNull()
  expect(await removed({ format: "ndjson", sanitise: "replay" })).toMatch(/^status, metadata\.uid, .*of pods, /)
  expect(await removed({ format: "kwok" })).toMatch(/^status, .*annotations that controllers write$/)
  expect(await removed({ format: "simkube" })).toMatch(/^status, .*\[deployment\.kubernetes\.io\/revision\]$/)
})
