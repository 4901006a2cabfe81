/** Controllers that validate and mutate, asked by a sandbox over real HTTPS. */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { connect } from "node:tls"
import fc from "fast-check"
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { AdmissionServer } from "../../../src/host/admission/admission-server.ts"
import { makeServerCertificate } from "../../../src/host/admission/certificate.ts"
import { answerReview, readReview } from "../../../src/host/admission/review-server.ts"
import { admissionTermsOf } from "../../../src/host/controller/define-admission.ts"
import {
  type ControllerDefinition,
  defineController,
  type RunningControllers,
  type RunOptions,
  runControllers,
} from "../../../src/host/controllers.ts"
import { ApiClient, type ApiObject, kinds } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { freePort } from "../../blob/server-process.ts"
import { rounds } from "../../harness/effort.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMaps = {
  ...kinds.namespaces,
  gvk: { group: "", version: "v1", kind: "ConfigMap" },
  plural: "configmaps",
  namespaced: true,
}
const validating = "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration"
const mutating = "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration"

const definitions = {
  ...kinds.namespaces,
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
}

interface Widget extends ApiObject {
  readonly spec: { readonly size?: number; readonly sizes?: ReadonlyArray<number | undefined> }
}

type Files = Readonly<Record<"tls.crt" | "tls.key" | "ca.crt", string>>

/** Of a Secret with a new certificate. */
const filesOf = (host: string): Files => {
  const [notBeforeMs, notAfterMs] = [Date.now() - 1000, Date.now() + 80 * 86_400_000]
  const { certificate, key, authority } = makeServerCertificate({ host, notBeforeMs, notAfterMs })
  return { "tls.crt": certificate, "tls.key": key, "ca.crt": authority }
}

const encoded = (files: Files) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString("base64")]))

/** The certificate that the webhooks of controller colours show. */
const shownBy = (cluster: Sandbox): Promise<string> =>
  new Promise((resolve, reject) => {
    const configuration = JSON.stringify(cluster.get(validating, "", "kubereel-colours"))
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(configuration)?.[1])
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    }).on("error", reject)
  })

const loopback = { listen: { address: "127.0.0.1", port: 0 }, host: "127.0.0.1" }

let sandbox: Sandbox
let client: ApiClient
let troubles: string[]

beforeEach(async () => {
  sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  client = new ApiClient({ server: sandbox.endpoint, userAgent: "test" })
  troubles = []
  onTestFinished(async () => {
    client.close()
    await sandbox.close()
  })
})

const run = async (
  definition: ControllerDefinition<ConfigMap>,
  options: RunOptions = {},
): Promise<RunningControllers> => {
  const running = await runControllers([defineController(definition)], {
    server: sandbox.endpoint,
    admission: loopback,
    onTrouble: (detail) => troubles.push(detail),
    ...options,
  })
  onTestFinished(() => running.close())
  await eventually(() => expect(running.missingWebhooks).toEqual([]))
  return running
}

const map = (name: string, data: Readonly<Record<string, string>> = {}, more: object = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", ...more },
  data,
})
const create = (name: string, data?: Readonly<Record<string, string>>, more?: object) =>
  client.create<ConfigMap>(configMaps, map(name, data, more))
const stored = (name: string) => sandbox.get("v1.ConfigMap", "default", name)

/** Admission alone: it watches nothing. */
const colours: ControllerDefinition<ConfigMap> = {
  name: "colours",
  for: "v1.ConfigMap",
  validate: ({ object }) => (object.data?.colour === "red" ? "red is not allowed" : undefined),
}

describe("A controller that validates", { timeout: patient(20_000) }, () => {
  test("refuses a write with its sentence, lets others pass, and watches nothing if it does not reconcile", async () => {
    await run(colours)
    await expect(create("a", { colour: "red" })).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining(
        'admission webhook "validate.colours.kubereel.dev" denied the request: red is not allowed',
      ),
    })
    await create("b", { colour: "blue" })
    await expect(
      client.patch(configMaps, { name: "b", namespace: "default" }, "merge", { data: { colour: "red" } }),
    ).rejects.toThrow("red is not allowed")
    expect([stored("a"), stored("b")]).toEqual([undefined, expect.objectContaining({ data: { colour: "blue" } })])
    expect(sandbox.requests.count({ resource: "configmaps", verb: "watch" })).toBe(0)
  })

  test("sees both states, who asks, and whether it is a dry run; it is asked about deletions if it says so", async () => {
    const asked: unknown[] = []
    await run({
      ...colours,
      admission: { operations: ["CREATE", "UPDATE", "DELETE"] },
      validate: ({ operation, object, oldObject, userInfo, dryRun }) => {
        asked.push([operation, object.data, oldObject?.data, userInfo.username, dryRun])
      },
    })
    await client.create(configMaps, map("a", { n: "1" }), { dryRun: true })
    expect(stored("a")).toBeUndefined()
    await create("a", { n: "1" })
    await client.patch(configMaps, { name: "a", namespace: "default" }, "merge", { data: { n: "2" } })
    await client.delete(configMaps, { name: "a", namespace: "default" })
    expect(asked).toEqual([
      ["CREATE", { n: "1" }, undefined, expect.any(String), true],
      ["CREATE", { n: "1" }, undefined, expect.any(String), false],
      ["UPDATE", { n: "2" }, { n: "1" }, expect.any(String), false],
      ["DELETE", { n: "2" }, { n: "2" }, expect.any(String), false],
    ])
  })

  test("names a field with status 422, and warns without refusing", async () => {
    await run({
      ...colours,
      validate: ({ object }) =>
        object.data?.size === "9" ? { field: "data.size", message: "is too large" } : { warnings: ["colours fade"] },
    })
    await expect(create("a", { size: "9" })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("denied the request: data.size: is too large"),
      causes: [{ reason: "FieldValueInvalid", field: "data.size", message: "is too large" }],
    })
    const answer = await sandbox.request({
      method: "POST",
      path: "/api/v1/namespaces/default/configmaps",
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(map("b"))),
    } as never)
    expect(JSON.stringify(answer)).toContain("colours fade")
  })

  test("reads what it watches", async () => {
    const running = await run({
      ...colours,
      reads: ["v1.Namespace"],
      validate: ({ object, cached }) =>
        cached("v1.Namespace").get({ name: object.data?.like ?? "" }) === undefined
          ? "there is no such namespace"
          : undefined,
    })
    await eventually(() => expect(running.statistics()[0]?.state).toBe("reconciling"))
    await expect(create("a", { like: "nowhere" })).rejects.toThrow("there is no such namespace")
    await create("a", { like: "kube-system" })
  })

  test("that throws or takes too long is named in the error, and its failure policy decides", async () => {
    const failing = (failurePolicy: "Fail" | "Ignore"): ControllerDefinition<ConfigMap> => ({
      ...colours,
      admission: { failurePolicy, timeoutMs: 50 },
      validate: ({ object }) => {
        if (object.data?.slow === "yes") return new Promise<undefined>(() => undefined)
        throw new Error("no palette")
      },
    })
    const running = await run(failing("Fail"))
    await expect(create("a")).rejects.toMatchObject({
      code: 500,
      message: expect.stringContaining(
        'failed calling webhook "validate.colours.kubereel.dev": failed to call webhook: an error on the server ("controller colours: validate failed: no palette")',
      ),
    })
    await expect(create("a", { slow: "yes" })).rejects.toThrow("it has not returned within 50 ms")
    expect(troubles).toEqual([
      "controller colours: validate failed: no palette",
      "controller colours: validate failed: it has not returned within 50 ms",
    ])
    await running.close()
    await run(failing("Ignore"))
    await create("a")
    await create("b", { slow: "yes" })
  })

  test("keeps its policy when its process has ended: Fail refuses writes, Ignore lets them pass", async () => {
    const running = await run(colours)
    await running.close()
    await expect(create("a")).rejects.toThrow(/failed calling webhook/)
    const lax = await run({ ...colours, admission: { failurePolicy: "Ignore" } })
    await expect(create("a", { colour: "red" })).rejects.toThrow("red is not allowed")
    await lax.close()
    await create("a", { colour: "red" })
  })

  test("answers what it was asked before its process ends", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: judged, resolve: judge } = Promise.withResolvers<void>()
    const running = await run({
      ...colours,
      validate: async () => {
        ask()
        await judged
        return undefined
      },
    })
    const created = create("a")
    await asked
    const closed = running.close()
    judge()
    await created
    await closed
  })

  test("is asked only about what its selection, its operations and its conditions say", async () => {
    await run({
      ...colours,
      for: { kind: "v1.ConfigMap", namespace: "default", labelSelector: "paint=yes" },
      admission: { matchConditions: [{ name: "not-mine", expression: 'object.metadata.name != "mine"' }] },
      validate: () => "no",
    })
    const painted = { labels: { paint: "yes" } }
    await expect(create("a", {}, painted)).rejects.toThrow("denied the request: no")
    await create("plain")
    await create("mine", {}, painted)
    await create("elsewhere", {}, { ...painted, namespace: "kube-system" })
  })
})

describe("A controller that mutates", { timeout: patient(20_000) }, () => {
  test("returns the object as it shall be, or changes its copy, and its own validation sees the result", async () => {
    await run({
      ...colours,
      mutate: ({ object }) => {
        const { old, ...data } = object.data ?? {}
        if (old === undefined)
          return { ...object, data, metadata: { ...object.metadata, annotations: { "a/b.0": "new" } } }
        ;(object as { data: unknown }).data = { ...data, colour: "red" }
        return undefined
      },
    })
    await create("a", { kept: "1" })
    expect(stored("a")).toMatchObject({ data: { kept: "1" }, metadata: { annotations: { "a/b.0": "new" } } })
    await expect(create("b", { old: "yes" })).rejects.toThrow("red is not allowed")
  })
})

describe("The webhooks of a process", { timeout: patient(20_000) }, () => {
  test("are refused without an address, and without a function", async () => {
    await expect(run(colours, { admission: undefined })).rejects.toThrow(/colours.*set admission in the options/)
    expect(() => defineController({ name: "none", for: "v1.Pod" })).toThrow("no reconcile, validate, mutate or convert")
    expect(() => defineController({ ...colours, admission: { timeoutMs: 60_000 } })).toThrow("from 1 to 29000")
  })

  test("share a certificate in a Secret, over restarts too, and one that is about to end is renewed without a gap", async () => {
    const service = { namespace: "host", name: "colours", port: 443 }
    sandbox.put("v1.Namespace", { metadata: { name: "host", labels: { "kubernetes.io/metadata.name": "host" } } })
    const admission = { ...loopback, service, prefix: "shop" }
    const bundle = (): string => {
      const [webhook] = (
        sandbox.get(validating, "", "shop-colours") as never as { webhooks: { clientConfig: { caBundle: string } }[] }
      ).webhooks
      return Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64").toString()
    }
    const secret = () => sandbox.get("v1.Secret", "host", "shop-webhooks")
    const first = await run(colours, { admission })
    // Else the process could not be started again where the policy refuses its own pod.
    await create("a", { colour: "red" }, { namespace: "host" })
    const [before, authority] = [secret(), bundle()]
    await run(colours, { admission })
    await first.close()
    expect([secret(), bundle()]).toEqual([before, authority])
    const later = Date.now() * 1000 + 65 * 86_400_000_000
    await run(colours, { admission, clock: { ...systemClock, wallMicros: () => later } })
    expect(secret()).not.toEqual(before)
    expect(
      bundle().endsWith(`-
${authority}`),
    ).toBe(true)
  })

  test.each([
    ["a key of another certificate", (other: Files, own: Files) => ({ ...own, "tls.key": other["tls.key"] })],
    ["no authority", (_: Files, own: Files) => ({ ...own, "ca.crt": "" })],
    ["an authority of others", (other: Files, own: Files) => ({ ...own, "ca.crt": other["ca.crt"] })],
    ["no PEM", () => ({ "tls.crt": "x", "tls.key": "y", "ca.crt": "-----BEGIN z-----END CERTIFICATE-----\n" })],
  ] as const)("get a new certificate if somebody has put %s into their Secret", async (_, damaged) => {
    const service = { namespace: "host", name: "colours", port: 443 }
    const metadata = { name: "kubereel-webhooks", namespace: "host" }
    sandbox.put("v1.Namespace", { metadata: { name: "host", labels: { "kubernetes.io/metadata.name": "host" } } })
    const put = encoded(damaged(filesOf("colours.host.svc"), filesOf("colours.host.svc")))
    sandbox.put("v1.Secret", { metadata, type: "Opaque", data: put } as never)
    await run(colours, { admission: { ...loopback, service } })
    const { data } = sandbox.get("v1.Secret", "host", "kubereel-webhooks") as never as { data: Files }
    const read = (name: keyof Files) => Buffer.from(data[name], "base64").toString()
    const certificate = new X509Certificate(read("tls.crt"))
    expect(certificate.checkPrivateKey(createPrivateKey(read("tls.key")))).toBe(true)
    expect(certificate.verify(new X509Certificate(read("ca.crt")).publicKey)).toBe(true)
    for (const pem of read("ca.crt").match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----/g) ?? [])
      expect(() => new X509Certificate(pem)).not.toThrow()
    expect(troubles).toEqual([])
  })

  test("are registered for a module that has got another name", async () => {
    const terms = admissionTermsOf(defineController(colours) as never)
    const given = terms === undefined ? [] : [terms]
    const trouble = (detail: string): void => void troubles.push(detail)
    await using server = await AdmissionServer.start({
      ...{ client, clock: systemClock, address: loopback, trouble },
      answer: async () => ({ allowed: true }),
    })
    server.set("before", given)
    await eventually(() => expect(server.missing).toEqual([]))
    server.set("before", [])
    server.set("after", given)
    await eventually(() => expect(server.missing).toEqual([]))
    expect(sandbox.get(validating, "", "kubereel-colours")).toBeDefined()
    expect(troubles).toEqual([])
  })

  test("are reached through their Service, by its name", async () => {
    const port = await freePort()
    const labels = { app: "colours" }
    const status = { podIP: "127.0.0.1", conditions: [{ type: "Ready", status: "True" }] }
    const spec = { selector: labels, ports: [{ port: 443, targetPort: port }] }
    sandbox.put("v1.Namespace", { metadata: { name: "host", labels: { "kubernetes.io/metadata.name": "host" } } })
    sandbox.put("v1.Service", { metadata: { name: "colours", namespace: "host" }, spec } as never)
    sandbox.put("v1.Pod", { metadata: { name: "colours", namespace: "host", labels }, spec: {}, status } as never)
    const service = { namespace: "host", name: "colours", port: 443 }
    await run(colours, { admission: { listen: { address: "127.0.0.1", port }, host: "", service } })
    await expect(create("a", { colour: "red" })).rejects.toThrow("denied the request: red is not allowed")
  })

  test("get another certificate while they are served, and no write is missed", async () => {
    // The machine's own clock judges certificates, so this one begins in the past.
    let offsetMicros = -70 * 86_400_000_000
    const clock: Clock = {
      ...systemClock,
      wallMicros: () => systemClock.wallMicros() + offsetMicros,
      // The long waits, between two looks and until API servers know an authority, take no time.
      after: (ms, action) => systemClock.after(ms >= 10_000 ? 20 : ms, action),
    }
    await run(colours, { clock })
    const configuration = () => JSON.stringify(sandbox.get(validating, "", "kubereel-colours"))
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(configuration())?.[1])
    const daysLeft = () =>
      new Promise<number>((resolve, reject) => {
        const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
          resolve(Math.round((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000))
          socket.destroy()
        }).on("error", reject)
      })
    const before = configuration()
    expect(await daysLeft()).toBe(20)
    offsetMicros = 0
    await eventually(async () => {
      await expect(create("a", { colour: "red" })).rejects.toThrow("red is not allowed")
      expect(await daysLeft()).toBe(90)
    })
    expect(configuration()).not.toBe(before)
    await expect(create("a", { colour: "red" })).rejects.toThrow("red is not allowed")
  })

  test("are tried again ever more rarely, only those that failed, and a new certificate waits for them", async () => {
    const pauses: number[] = []
    let offsetMicros = -70 * 86_400_000_000
    const clock: Clock = {
      ...systemClock,
      wallMicros: () => systemClock.wallMicros() + offsetMicros,
      after: (ms, action) => {
        pauses.push(Math.round(ms))
        return systemClock.after(Math.min(ms, 20), action)
      },
    }
    const failing = new Set(["kubereel-shapes"])
    const applied: string[] = []
    const apply = client.apply.bind(client)
    vi.spyOn(client, "apply").mockImplementation((kind, target, ...rest) => {
      applied.push(target.name)
      return failing.has(target.name) ? Promise.reject(new Error("not now")) : apply(kind, target, ...rest)
    })
    await using server = await AdmissionServer.start({
      ...{ client, clock, address: loopback, random: () => 0, trouble: (detail) => troubles.push(detail) },
      answer: async () => ({ allowed: true }),
    })
    const named = (name: string) => admissionTermsOf(defineController({ ...colours, name }) as never) ?? []
    server.set("module", [named("colours"), named("shapes")].flat())
    await eventually(() =>
      expect(pauses.filter((ms) => ms < 60_000).slice(0, 6)).toEqual([2, 4, 8, 16, 30, 30].map((s) => s * 1000)),
    )
    expect(server.missing).toEqual(["shapes"])
    expect(applied.filter((name) => name === "kubereel-colours")).toHaveLength(1)
    expect(troubles).toEqual(["webhooks of controller shapes: not now"])
    failing.clear()
    await eventually(() => expect(server.missing).toEqual([]))
    const before = await shownBy(sandbox)
    failing.add("kubereel-shapes")
    offsetMicros = 0
    const tried = applied.length
    await eventually(() => expect(applied.length).toBeGreaterThan(tried + 4))
    expect(await shownBy(sandbox)).toBe(before)
    failing.clear()
    await eventually(async () => expect(await shownBy(sandbox)).not.toBe(before))
  })

  test("of modules that went while the host was down are named with what removes them, and stay", async () => {
    const first = await run(colours)
    await first.close()
    const clock: Clock = { ...systemClock, after: (ms, action) => systemClock.after(Math.min(ms, 300), action) }
    await run({ ...colours, name: "shapes" }, { clock })
    const name = "validatingwebhookconfiguration kubereel-colours"
    await eventually(() =>
      expect(troubles).toEqual([
        `no module that runs has the webhooks of ${name}; if its module is gone, remove them with: kubectl delete ${name}`,
      ]),
    )
    expect(sandbox.get(validating, "", "kubereel-colours")).toBeDefined()
    vi.spyOn(ApiClient.prototype, "list").mockRejectedValue(new Error("forbidden"))
    onTestFinished(() => void vi.restoreAllMocks())
    await run({ ...colours, name: "sizes" }, { clock, admission: { ...loopback, prefix: "other" } })
    await eventually(() => expect(troubles.join()).toContain("grant list on mutatingwebhookconfigurations."))
  })

  test("of functions that a controller has no more are removed, and those of other controllers stay", async () => {
    const first = await run({ ...colours, mutate: () => undefined })
    expect(sandbox.get(mutating, "", "kubereel-colours")).toBeDefined()
    await first.close()
    await run(colours)
    expect(sandbox.get(mutating, "", "kubereel-colours")).toBeUndefined()
    expect(sandbox.get(validating, "", "kubereel-colours")).toBeDefined()
  })
})

test("any JSON is a review or is refused with a reason", () => {
  fc.assert(
    fc.property(fc.json(), fc.string(), (json, text) => {
      for (const body of [json, text]) expect(readReview(body)).toHaveProperty("problem")
    }),
    { numRuns: rounds(200) },
  )
})

test("A controller converts objects between two versions, and what it throws fails the conversion by name", async () => {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const version = { served: true, schema: { openAPIV3Schema: open } }
  const spec = {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget" },
    scope: "Namespaced",
    versions: [
      { ...version, name: "v1", storage: true },
      { ...version, name: "v2", storage: false },
    ],
  }
  const metadata = { name: "widgets.example.com" }
  await client.create(definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata,
    spec,
  } as ApiObject)
  const widgets = defineController<Widget>({
    name: "widgets",
    for: "example.com/v2.Widget",
    convert: ({ object, from, to }) => {
      const { spec } = object as Widget
      if (spec.size === undefined && spec.sizes === undefined) throw new Error(`a ${from} without a size`)
      return { ...object, spec: to === "v2" ? { sizes: [spec.size] } : { size: spec.sizes?.[0] } } as Widget
    },
  })
  const running = await runControllers([widgets], {
    server: sandbox.endpoint,
    admission: loopback,
    onTrouble: (detail) => troubles.push(detail),
  })
  onTestFinished(() => running.close())
  await eventually(() => expect(running.missingWebhooks).toEqual([]))
  expect(sandbox.get("apiextensions.k8s.io/v1.CustomResourceDefinition", "", "widgets.example.com")).toMatchObject({
    spec: {
      conversion: {
        strategy: "Webhook",
        webhook: {
          clientConfig: { url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+\/widgets\/convert$/) },
          conversionReviewVersions: ["v1"],
        },
      },
    },
  })
  const asked = async (desiredAPIVersion: string, ...objects: ReadonlyArray<object>) => {
    const request = { uid: "u", desiredAPIVersion, objects }
    const body = JSON.stringify({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request })
    const { text } = await answerReview(body, (given) => running.review("widgets", "convert", given))
    return JSON.parse(text)
  }
  const [one, two] = [1, 2].map((size) => ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: `w${size}` },
    spec: { size },
  }))
  const there = await asked("example.com/v2", one as object, two as object)
  expect(there).toMatchObject({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    response: { uid: "u", result: { status: "Success" } },
  })
  expect(there.response.convertedObjects[1]).toEqual({ ...two, apiVersion: "example.com/v2", spec: { sizes: [2] } })
  expect((await asked("example.com/v1", ...there.response.convertedObjects)).response.convertedObjects).toEqual([
    one,
    two,
  ])
  const { response } = await asked("example.com/v2", { ...one, spec: {} })
  expect(response.result).toEqual({
    status: "Failed",
    message: "controller widgets: convert failed: a v1 without a size",
  })
})
