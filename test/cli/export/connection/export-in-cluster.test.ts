import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { exitCodes } from "../../../../src/cli/command-line/exit-codes.ts"
import { parseServiceAddress } from "../../../../src/cli/export/connection/recorder-place.ts"
import { exportCommand } from "../../../../src/cli/export.ts"
import { makeCertificates } from "../../../kube/certificates.ts"
import { startForwardProxy } from "../../../kube/http/connect-proxy.ts"
import { capturedTerminal } from "../../captured-terminal.ts"
import { commandsIn, type Ran } from "../../commands-in.ts"
import { type ServiceProxy, type ServiceProxyOptions, startServiceProxy, status } from "../../service-proxy.ts"
import { type Answer, recorderStandIn } from "../recorder-stand-in.ts"

const now = Date.UTC(2026, 10, 21, 10, 0, 0) * 1000
/** With and without the port: without it, the Service is asked for first. */
const bothForms = ["kubereel/kubereel", "kubereel/kubereel:http"]
const certificates = makeCertificates()
const serverTls = { cert: certificates.server.certificate, key: certificates.server.key }
const kubeconfigToken = "token-of-the-kubeconfig"
const recorderToken = "token-for-the-recorder"

const { path: pathOf, write, names, run: runIn } = commandsIn("kubereel-in-cluster-")

const whole = Buffer.from('{"format":"kubereel"}\n'.repeat(6))
const digestOf = (bytes: Buffer): string => `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`

const sendTrace: Answer = (response) => {
  response.writeHead(200, { Trailer: "Repr-Digest", "Content-Type": "application/x-ndjson" })
  response.write(whole)
  response.addTrailers({ "Repr-Digest": digestOf(whole) })
  response.end()
}

/** A recorder in its pod, and the API server in front of it. */
const cluster = async (answer: Answer = sendTrace, options: Partial<ServiceProxyOptions> = {}) => {
  const recorder = await recorderStandIn((response, asked) => {
    response.setHeader("Kubereel-Request-Id", "r-1")
    answer(response, asked)
  })
  const api = await startServiceProxy({ upstream: recorder.url, tls: serverTls, ...options })
  onTestFinished(() => api[Symbol.asyncDispose]())
  return { asked: recorder.asked, api, stopRecorder: recorder.close }
}

type Settings = Readonly<Record<string, unknown>>

/** Writes a kubeconfig and returns its path. */
const kubeconfig = (server: string, clusterSettings: Settings = {}, user?: Settings): string => {
  const authority = Buffer.from(certificates.authority).toString("base64")
  const own = server.startsWith("https:") ? { "certificate-authority-data": authority } : {}
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "here", cluster: { server, ...own, ...clusterSettings } }],
    users: [{ name: "anna", user: user ?? { token: kubeconfigToken } }],
    contexts: [{ name: "staging", context: { cluster: "here", user: "anna" } }],
    "current-context": "staging",
  }
  return write("kubeconfig", JSON.stringify(document))
}

const serverOf = (api: ServiceProxy): string => `https://localhost:${api.port}`

interface RunOptions {
  readonly service?: string
  readonly path: string
  readonly more?: ReadonlyArray<string>
  readonly environment?: Record<string, string>
}

const run = async ({ service = "kubereel/kubereel", path, more = [], environment = {} }: RunOptions): Promise<Ran> => {
  const file = more.includes("-o") || more.includes("--dry-run") ? [] : ["-o", pathOf("a.ndjson")]
  const words = ["--in-cluster", service, "--kubeconfig", path, ...file, ...more]
  const result = await runIn(exportCommand({ now: () => now }), words, capturedTerminal({ environment }))
  // Whatever happens.
  for (const token of [kubeconfigToken, recorderToken]) expect(result.output + result.error).not.toContain(token)
  return result
}

describe("an export from a recorder in a cluster", () => {
  test("is sent through the API server's service proxy, byte for byte", async () => {
    const { api, asked } = await cluster()
    const { code, error } = await run({ path: kubeconfig(serverOf(api)) })
    expect([code, error]).toEqual([exitCodes.ok, expect.stringMatching(/a\.ndjson: \d+ B, /)])
    expect(readFileSync(pathOf("a.ndjson"))).toEqual(whole)
    expect(api.seen.map(({ line }) => line)).toEqual([
      "GET /api/v1/namespaces/kubereel/services/kubereel",
      "POST /api/v1/namespaces/kubereel/services/kubereel:http/proxy/export",
    ])
    expect(asked.map(({ path }) => path)).toEqual(["POST /export"])
    expect(asked[0]?.body).toMatchObject({ format: "ndjson", end_time: now })
  })

  test("presents the token of the kubeconfig's user to the recorder, which the API server otherwise removes", async () => {
    const { api, asked } = await cluster()
    await run({ path: kubeconfig(serverOf(api)) })
    expect(api.seen.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill(`Bearer ${kubeconfigToken}`))
    expect(asked[0]?.headers).toMatchObject({ "kubereel-authorization": `Bearer ${kubeconfigToken}` })
    expect(asked[0]?.headers.authorization).toBeUndefined()
    // Only the export request goes to the recorder.
    expect(api.seen[0]?.headers["kubereel-authorization"]).toBeUndefined()
  })

  test("presents the recorder's token to the recorder, and the kubeconfig's to the API server", async () => {
    const { api, asked } = await cluster()
    const path = kubeconfig(serverOf(api))
    const file = write("token", `${recorderToken}-of-a-file\n`)
    const environment = { KUBEREEL_TOKEN: recorderToken }
    await run({ path, environment })
    await run({ path, environment, more: ["--token-file", file, "-f"] })
    expect(asked.map(({ headers }) => headers["kubereel-authorization"])).toEqual([
      `Bearer ${recorderToken}`,
      `Bearer ${recorderToken}-of-a-file`,
    ])
    expect(new Set(api.seen.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${kubeconfigToken}`]),
    )
  })

  test("with a client certificate presents no token, and says how to get one for a recorder that requires it", async () => {
    const tls = { ...serverTls, ca: certificates.authority, requestCert: true }
    const { api, asked } = await cluster((response) => response.writeHead(401).end("a token, please\n"), { tls })
    const base64 = (text: string): string => Buffer.from(text).toString("base64")
    const user = {
      "client-certificate-data": base64(certificates.client.certificate),
      "client-key-data": base64(certificates.client.key),
    }
    const { code, error } = await run({ path: kubeconfig(serverOf(api), {}, user) })
    expect(api.seen.map(({ certificate }) => certificate)).toEqual(["recorder", "recorder"])
    expect(asked[0]?.headers).not.toHaveProperty("kubereel-authorization")
    expect([code, error]).toEqual([
      exitCodes.notPermitted,
      "reel export: the recorder kubereel/kubereel rejected the export with status 401: a token, please. Set KUBEREEL_TOKEN to a token: " +
        "$(kubectl -n kubereel create token NAME), where NAME is a ServiceAccount that may export\n",
    ])
  })

  test("impersonates another user if the kubeconfig says so, with all their groups", async () => {
    const { api } = await cluster()
    const user = { token: kubeconfigToken, as: "anna", "as-groups": ["one", "two"] }
    expect((await run({ path: kubeconfig(serverOf(api), {}, user) })).code).toBe(exitCodes.ok)
    for (const { headers } of api.seen)
      expect(headers).toMatchObject({ "impersonate-user": "anna", "impersonate-group": "one, two" })
  })

  test("can be a dry run, converted by the recorder, or written by it", async () => {
    const forecast = {
      window: { start: 0, end: now },
      kinds: [],
      countedBefore: [],
      incomplete: [],
      leftOut: [],
      unknownOwners: { count: 0, first: [] },
      refusals: [],
    }
    const { api } = await cluster((response, { body }) => {
      if (body.dry_run === undefined) response.writeProcessing()
      response.setHeader("Content-Type", "application/json")
      response.end(JSON.stringify(body.dry_run === true ? forecast : { location: "s3://traces/a", bytes: 7 }))
    })
    const path = kubeconfig(serverOf(api))
    expect(await run({ path, more: ["--dry-run"] })).toMatchObject({
      code: exitCodes.ok,
      output: expect.stringContaining("0 objects"),
    })
    const written = await run({ path, more: ["-o", "s3://traces/a"] })
    expect(written).toMatchObject({ code: exitCodes.ok, error: expect.stringMatching(/^s3:\/\/traces\/a: 7 B, /) })
  })

  test("without the trailers that an intermediary drops says so", async () => {
    const { api } = await cluster(sendTrace, { dropsTrailers: true })
    const { code, error } = await run({ path: kubeconfig(serverOf(api)) })
    expect([code, error]).toEqual([exitCodes.ok, expect.stringContaining("the trace came without its checksum")])
  })

  test("if incomplete says how to find out why", async () => {
    const { api } = await cluster((response, asked) => {
      response.setHeader("Kubereel-Incomplete", "v1.Pod=forbidden")
      sendTrace(response, asked)
    })
    const { code, error } = await run({ path: kubeconfig(serverOf(api)), more: ["--context", "staging"] })
    expect(code).toBe(exitCodes.incomplete)
    expect(error).toContain(
      'v1.Pod may not be listed by the recorder. For the reason see kubectl --context staging get --raw "/api/v1/namespaces/kubereel/services/kubereel:http/proxy/readyz?verbose"',
    )
  })
})

describe("the port of the Service", () => {
  test.each<[what: string, ports: ServiceProxyOptions["ports"], service: string, port: string]>([
    ["is the only one, by its number if it has no name", [{ port: 8080 }], "kubereel/kubereel", "8080"],
    ["is the only one, by its name", [{ name: "web", port: 80 }], "kubereel/kubereel", "web"],
    [
      "is the one called http",
      [
        { name: "extra", port: 1 },
        { name: "http", port: 2 },
      ],
      "kubereel/kubereel",
      "http",
    ],
    ["is the one that is named", [{ name: "web", port: 80 }], "kubereel/kubereel:web", "web"],
    ["is the one that is numbered", [{ name: "web", port: 80 }], "kubereel/kubereel:80", "80"],
  ])("%s", async (_, ports = [], service, port) => {
    const { api } = await cluster(sendTrace, { ports })
    expect((await run({ service, path: kubeconfig(serverOf(api)) })).code).toBe(exitCodes.ok)
    expect(api.seen.at(-1)?.line).toContain(`/services/kubereel:${port}/proxy/export`)
    // A user who names it needs no permission to get Services.
    expect(api.seen).toHaveLength(service.includes(":") ? 1 : 2)
  })

  test("must be named if there are several and none is called http", async () => {
    const ports = [{ name: "one", port: 1 }, { port: 2 }]
    const { api, asked } = await cluster(sendTrace, { ports })
    const { code, error } = await run({ path: kubeconfig(serverOf(api)) })
    expect([code, error]).toEqual([
      exitCodes.failed,
      "reel export: the Service kubereel/kubereel has several ports (one, 2); name the recorder's port: --in-cluster kubereel/kubereel:PORT\n",
    ])
    expect(asked).toEqual([])
  })

  test("is assumed to be http if the user may not get the Service", async () => {
    const { api } = await cluster(sendTrace, {
      instead: (request, response) => {
        const isGet = request.method === "GET"
        const said = 'services "kubereel" is forbidden: User "anna" cannot get resource "services"'
        if (isGet) status(response, 403, "Forbidden", said)
        return isGet
      },
    })
    expect((await run({ path: kubeconfig(serverOf(api)) })).code).toBe(exitCodes.ok)
    expect(api.seen.at(-1)?.line).toContain("/services/kubereel:http/proxy/export")
  })
})

describe("an obstacle is reported, and nothing is written", () => {
  const failing = async (options: RunOptions): Promise<Ran> => {
    const result = await run(options)
    expect(names().filter((name) => name !== "kubeconfig")).toEqual([])
    return result
  }

  /** For an API server that responds like this to everything except the request for the Service. */
  const refusedWith = async (code: number, reason: string, message: string, headers: Record<string, string> = {}) => {
    const { api } = await cluster(sendTrace, {
      instead: (request, response) => {
        if (request.method === "GET") return false
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
        status(response, code, reason, message)
        return true
      },
    })
    const { error, ...rest } = await failing({ path: kubeconfig(serverOf(api)) })
    return { ...rest, error: error.replaceAll(serverOf(api), "SERVER") }
  }

  test("a missing permission, with the rule that grants it", async () => {
    const message =
      'services "kubereel:http" is forbidden: User "anna" cannot create resource "services/proxy" in API group "" in the namespace "kubereel"'
    expect(await refusedWith(403, "Forbidden", message)).toEqual({
      code: exitCodes.notPermitted,
      output: "",
      error:
        "reel export: anna may not create services/proxy in namespace kubereel. A Role there, bound to anna, needs the rule " +
        '{apiGroups: [""], resources: ["services/proxy"], resourceNames: ["kubereel:http"], verbs: ["create"]}\n',
    })
    const nobody = await refusedWith(403, "Forbidden", message.replace("anna", "system:anonymous"))
    expect(nobody.code).toBe(exitCodes.notPermitted)
    expect(nobody.error).toContain("treats the kubeconfig's user as anonymous (system:anonymous)")
  })

  const unreached = "error trying to reach service: "
  test.each<[code: number, reason: string, message: string, said: string]>([
    [401, "Unauthorized", "Unauthorized", "SERVER does not accept the kubeconfig's credentials: Unauthorized"],
    [
      429,
      "TooManyRequests",
      "Too many, later.",
      "the API server SERVER is overloaded: Too many, later. Try again in 3 s",
    ],
    [
      503,
      "ServiceUnavailable",
      `${unreached}dial tcp 10.0.0.7:7777: i/o timeout`,
      'dial tcp 10.0.0.7:7777: i/o timeout. A network policy or a firewall may block it. To bypass it, run "kubectl -n kubereel port-forward service/kubereel 7777:http"',
    ],
    [
      503,
      "ServiceUnavailable",
      `${unreached}dial tcp 10.0.0.7:7777: connect: connection refused`,
      "Nothing listens on that port. Check the pods and their logs: kubectl -n kubereel get pods",
    ],
    [
      503,
      "ServiceUnavailable",
      `${unreached}net/http: HTTP/1.x transport connection broken: too many 1xx informational responses`,
      "after 2.5 minutes",
    ],
    [
      504,
      "Timeout",
      "request did not complete",
      "the export request did not reach a recorder at kubereel/kubereel through SERVER: status 504: request did not complete",
    ],
  ])("an API server that answers %i %s, and %s", async (code, reason, message, said) => {
    const result = await refusedWith(code, reason, message, { "Retry-After": "3" })
    const exit = code === 401 ? exitCodes.notPermitted : exitCodes.failed
    expect([result.code, result.error]).toEqual([exit, expect.stringContaining(said)])
  })

  test("a Service that does not exist, has no endpoints, or is not a recorder", async () => {
    const { api, stopRecorder } = await cluster((response) => {
      response.removeHeader("Kubereel-Request-Id")
      response.writeHead(404).end("<html><body>nothing <b>here</b></body></html>")
    })
    const path = kubeconfig(serverOf(api))
    const said = async (service: string): Promise<string> => {
      const { code, error } = await failing({ path, service })
      expect(code).toBe(exitCodes.failed)
      return error
    }
    expect(await said("shop/kubereel")).toContain("there is no Service shop/kubereel at https://localhost:")
    expect(await said("kubereel/kubereel:9")).toContain("the Service kubereel/kubereel has no port 9: ")
    expect(await said("kubereel/kubereel:web")).toMatch(
      /no pod of the Service kubereel\/kubereel is ready on port web: .* Check: kubectl -n kubereel get pods/,
    )
    expect(await said("kubereel/kubereel")).toMatch(
      /did not reach a recorder at kubereel\/kubereel through .*: status 404: nothing here$/m,
    )
    await stopRecorder()
    expect(await said("kubereel/kubereel")).toContain("cannot reach the Service kubereel/kubereel: ")
  })

  test("an error of the recorder, in its own words", async () => {
    const { api } = await cluster((response) => {
      response.setHeader("Retry-After", "2")
      response.writeHead(429).end("2 exports are already running, which is the limit; try again\n")
    })
    expect(await failing({ path: kubeconfig(serverOf(api)) })).toEqual({
      code: exitCodes.failed,
      output: "",
      error:
        "reel export: the recorder kubereel/kubereel rejected the export with status 429: 2 exports are already running, which is the limit; try again. Try again in 2 s\n",
    })
  })

  test("a truncated response", async () => {
    const { api } = await cluster((response) => {
      response.write(whole.subarray(0, 40))
      setImmediate(() => response.destroy())
    })
    const { code, error } = await failing({ path: kubeconfig(serverOf(api)) })
    expect([code, error]).toEqual([exitCodes.failed, expect.stringMatching(/incomplete after \d+ bytes/)])
  })

  test("a certificate of another authority, or for another name", async () => {
    const { api } = await cluster()
    const other = Buffer.from(makeCertificates().authority).toString("base64")
    const distrusted = { path: kubeconfig(serverOf(api), { "certificate-authority-data": other }) }
    for (const service of bothForms)
      expect(await failing({ ...distrusted, service })).toMatchObject({
        code: exitCodes.failed,
        error: expect.stringContaining(
          "the server's certificate is not signed by the expected certificate authority; is the certificate-authority",
        ),
      })
    expect(api.seen).toEqual([])
    const { certificate: cert, key } = certificates.elsewhere
    const renamed = await cluster(sendTrace, { tls: { cert, key } })
    const path = kubeconfig(serverOf(renamed.api))
    for (const service of bothForms)
      expect((await failing({ path, service })).error).toContain(
        "the server's certificate is for another name (it is for api.internal); ",
      )
    const named = kubeconfig(serverOf(renamed.api), { "tls-server-name": "api.internal" })
    expect((await run({ path: named })).code).toBe(exitCodes.ok)
  })

  test("an unreachable API server", async () => {
    const { api } = await cluster()
    const path = kubeconfig(serverOf(api))
    await api[Symbol.asyncDispose]()
    for (const service of bothForms)
      expect((await failing({ path, service })).error).toContain("connection refused; is the API server running")
  })

  test("an unusable kubeconfig", async () => {
    const { api } = await cluster()
    const path = kubeconfig(serverOf(api))
    const { code, error } = await failing({ path, more: ["--context", "production"] })
    expect([code, error]).toEqual([
      exitCodes.failed,
      'reel export: context "production" not found in FOLDER/kubeconfig; existing contexts: staging\n',
    ])
  })

  test("Ctrl-C while the API server does not respond", async () => {
    for (const service of bothForms) {
      const terminal = capturedTerminal()
      const { api } = await cluster(sendTrace, {
        instead: () => {
          setImmediate(terminal.interrupt)
          return true
        },
      })
      const words = ["--in-cluster", service, "--kubeconfig", kubeconfig(serverOf(api)), "-o", pathOf("a")]
      const { code, error } = await runIn(exportCommand({ now: () => now }), words, terminal)
      expect([code, error]).toEqual([exitCodes.interrupted, "reel export: interrupted; no file was kept\n"])
    }
  })
})

describe("through an HTTP proxy", () => {
  test("a tunnel connects to the API server, with the proxy's user and password", async () => {
    const { api, asked } = await cluster()
    await using proxy = await startForwardProxy("me:pass")
    const through = { "proxy-url": `http://me:pass@127.0.0.1:${proxy.port}` }
    expect((await run({ path: kubeconfig(serverOf(api), through) })).code).toBe(exitCodes.ok)
    expect(proxy.seen.map(({ line }) => line)).toEqual(Array(2).fill(`CONNECT localhost:${api.port}`))
    expect(asked[0]?.headers).toMatchObject({ "kubereel-authorization": `Bearer ${kubeconfigToken}` })
  })

  test("if it opens no tunnel, the export ends with its response", async () => {
    const { api } = await cluster()
    await using proxy = await startForwardProxy("me:pass")
    const path = kubeconfig(serverOf(api), { "proxy-url": `http://127.0.0.1:${proxy.port}` })
    const { code, error } = await run({ path, service: "kubereel/kubereel:http" })
    expect([code, error]).toEqual([
      exitCodes.failed,
      expect.stringContaining(
        `the proxy http://127.0.0.1:${proxy.port} did not open a tunnel to localhost:${api.port}: it returned 407`,
      ),
    ])
  })

  test("an API server without TLS is requested by its whole URL", async () => {
    const { api, asked } = await cluster(sendTrace, { tls: undefined })
    const path = kubeconfig("http://api.invalid", { "proxy-url": `http://127.0.0.1:${api.port}` })
    expect((await run({ path })).code).toBe(exitCodes.ok)
    expect(api.seen.at(-1)).toMatchObject({
      line: "POST http://api.invalid/api/v1/namespaces/kubereel/services/kubereel:http/proxy/export",
      headers: { host: "api.invalid" },
    })
    expect(asked).toHaveLength(1)
  })
})

describe("NAMESPACE/SERVICE[:PORT]", () => {
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
  const port = fc.oneof(
    fc.integer({ min: 1, max: 65_535 }).map(String),
    fc.stringMatching(/^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$/),
  )

  test("is read as it is written", () => {
    fc.assert(
      fc.property(label, label, fc.option(port, { nil: undefined }), (namespace, service, wanted) => {
        const text = `${namespace}/${service}${wanted === undefined ? "" : `:${wanted}`}`
        expect(parseServiceAddress(text)).toEqual({
          _tag: "Value",
          value: { namespace, service, port: wanted },
        })
      }),
    )
  })

  test("is rejected, or contains nothing that would be another path", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z/.:%?#-]*$/)), (text) => {
        const reading = parseServiceAddress(text)
        if (reading._tag === "Refused") return
        for (const part of Object.values(reading.value)) if (part !== undefined) expect(part).toMatch(/^[a-z0-9-]+$/)
      }),
    )
    for (const text of ["", "kubereel", "a/b/c", "a/b:", "a/b:0", "a/b:65536", "A/b", "a/http:b:80", "../b", "-a/b"])
      expect(parseServiceAddress(text)._tag).toBe("Refused")
  })

  test("cannot be combined with --server, and kubeconfig options require it", async () => {
    for (const [words, said] of [
      ["--in-cluster a/b -s localhost:7777", "--server and --in-cluster each name a recording"],
      ["--kubeconfig x", "--kubeconfig requires --in-cluster NAMESPACE/SERVICE"],
      ["--context x", "--context requires --in-cluster NAMESPACE/SERVICE"],
      ["--in-cluster kubereel", "must be NAMESPACE/SERVICE"],
    ] as const) {
      const { code, error } = await runIn(exportCommand({ now: () => now }), ["-o", "-", ...words.split(" ")])
      expect([code, error]).toEqual([exitCodes.usage, expect.stringContaining(said)])
    }
  })
})
