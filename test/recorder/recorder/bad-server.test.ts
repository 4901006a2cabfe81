/** Servers that reject, become silent, send garbage, disappear and return as another cluster: what the user sees, and what is lost. */
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { Workplace } from "./recorder-command.ts"

const configMap = (name: string) => ({ metadata: { namespace: "shop", name } })
const training = "ml.example.com/v1.Training"

/** Concurrent, because most of the time is spent in the back-off that a real server deserves. */
describe.concurrent("a server that", { timeout: patient(40_000) }, () => {
  test("lacks a kind and forbids another does not keep the others from being recorded", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    sandbox.faults.respond("deployments", 403)
    const kinds = {
      "v1.ConfigMap": "{}",
      "apps/v1.Deployment": "{}",
      [training]: '{podSpecTemplatePaths: ["/spec/template"]}',
    }
    const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
    await recorder.ready()
    sandbox.put("v1.ConfigMap", configMap("settings"))
    expect(await recorder.kind(training)).toMatch(/waiting: .*not installed/)
    const forbidden = await recorder.kind("apps/v1.Deployment")
    expect(forbidden).toMatch(/forbidden: .*cannot (list|watch) resource "deployments" in API group "apps"/)
    expect(forbidden).toContain('{apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"]}')
    await recorder.until(async () => recorder.log.includes(forbidden), "the refusal in the log")
    const answer = await recorder.post({ start_ts: 0, end_ts: 1, export_path: "x", filters: noFilters })
    expect(answer.headers.get("kubereel-incomplete")).toBe(`apps/v1.Deployment=forbidden, ${training}=waiting`)

    sandbox.register({
      gvk: { group: "ml.example.com", version: "v1", kind: "Training" },
      plural: "trainings",
      namespaced: true,
    })
    sandbox.put(training, configMap("first"))
    await recorder.inState(training, /watching/, 20_000)
    const lines = async () => (await recorder.exported()).map(({ gvk, name, action }) => `${gvk} ${name ?? action}`)
    await recorder.until(async () => (await lines()).length >= 3, "two objects and a gap")
    expect((await lines()).sort()).toEqual([`${training} first`, `${training} gap`, "v1.ConfigMap settings"])
    // Nothing shows what happened to it between the installation and the moment at which that was noticed.
    const untilNow = { end_time: Date.now() * 1000, require: "all", export_path: "x", start_ts: 0, end_ts: 1 }
    const ofTraining = await recorder.post({ ...untilNow, filters: { ...noFilters, kinds: [training] } })
    expect(ofTraining.status).toBe(409)
    expect(await ofTraining.text()).toMatch(
      new RegExp(
        `: ${training} is recorded only from [^ ]+Z on, when its definition was noticed: the recording begins at [^ ]+Z, and what happened to its objects in between is missing; the window has 1 gap\n$`,
      ),
    )
    const ofOthers = await recorder.post({ ...untilNow, filters: { ...noFilters, kinds: ["v1.ConfigMap"] } })
    expect(ofOthers.status).toBe(200)
    // Everything missing at the end is due to permissions.
    expect(await recorder.stop()).toMatchObject({ code: 4 })
  })

  test("gets a kind while it is recorded, or while no recorder runs: later recorders know since when they have it", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const plurals = { Widget: "widgets", Gadget: "gadgets" }
    const define = (kind: keyof typeof plurals): void =>
      sandbox.register({
        gvk: { group: "example.com", version: "v1", kind },
        plural: plurals[kind],
        namespaced: true,
      })
    const gvks = ["example.com/v1.Widget", "example.com/v1.Gadget"]
    const kinds = Object.fromEntries(["v1.ConfigMap", ...gvks].map((gvk) => [gvk, "{}"]))
    const record = () => place.record({ cluster: { server: sandbox.url }, kinds })
    const first = record()
    await first.ready()
    for (const gvk of gvks) await first.inState(gvk, /waiting/)
    define("Widget")
    await first.inState("example.com/v1.Widget", /watching/, 20_000)
    await first.stop()
    define("Gadget")
    for (let life = 0; life < 2; life++) {
      const next = record()
      await next.ready()
      for (const gvk of gvks) {
        await next.inState(gvk, /watching/)
        const untilNow = { end_time: Date.now() * 1000, require: "all", export_path: "x", start_ts: 0, end_ts: 1 }
        const answer = await next.post({ ...untilNow, filters: { ...noFilters, kinds: [gvk] } })
        expect([gvk, answer.status]).toEqual([gvk, 409])
        expect(await answer.text()).toContain(`${gvk} is recorded only from `)
      }
      await (life === 0 ? next.kill() : next.stop())
    }
  })

  test("lacks a kind until the end makes the recording incomplete", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const kinds = { "v1.ConfigMap": "{}", [training]: '{podSpecTemplatePaths: ["/spec/template"]}' }
    const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
    await recorder.ready()
    expect(await recorder.stop()).toMatchObject({ code: 3 })
    expect(recorder.log).toMatch(/ml\.example\.com\/v1\.Training was waiting at the end/)
  })

  test("rejects the token is recorded again as soon as the token file has a new one", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start({ token: "first" })
    const tokenFile = place.write("token", "first\n")
    const kinds = { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" }
    const recorder = place.record({ cluster: { server: sandbox.url, user: { tokenFile } }, kinds })
    await recorder.ready()
    place.write("token", "second\n")
    sandbox.setToken("second")
    sandbox.faults.dropConnections()
    sandbox.put("v1.ConfigMap", configMap("meanwhile"))
    await recorder.until(async () => (await recorder.exported()).length === 1, "the change made meanwhile")
    await recorder.inState("apps/v1.Deployment", /watching/)
    await recorder.inState("v1.ConfigMap", /watching/)
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("always rejects the token is not flooded with requests, and the recording ends with the exit code for that", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start({ token: "right" })
    const kinds = { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" }
    const recorder = place.record({ cluster: { server: sandbox.url, user: { token: "wrong" } }, kinds })
    await recorder.inState("v1.ConfigMap", /failing: .*HTTP 401.*log in again/)
    await recorder.inState("apps/v1.Deployment", /failing: .*HTTP 401/)
    // Back-off by kind, and not one request per response: those were once 1,400 a second.
    await sandbox.requests.waitFor({ status: 401 }, 6)
    expect(sandbox.requests.total).toBeLessThan(15)
    expect(recorder.log.match(/does not accept the credentials/g)).toHaveLength(1)
    expect(recorder.log).not.toContain("failing")
    expect(await recorder.stop()).toMatchObject({ code: 4 })
  })

  test("sends broken lines, cut lines and 500s loses nothing", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const kinds = { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}", "v1.Service": "{}" }
    const recorder = place.record({ cluster: { server: sandbox.url }, kinds })
    await recorder.ready()
    for (const gvk of Object.keys(kinds)) sandbox.put(gvk, configMap("before"))
    sandbox.faults.garbage("configmaps", '{"type":"MODIFIED","obj')
    sandbox.faults.truncate("deployments", 40)
    sandbox.faults.respond("services", 500, { times: 2 })
    sandbox.faults.hangUp("services")
    for (const gvk of Object.keys(kinds)) sandbox.put(gvk, configMap("after"))
    const exported = async () => (await recorder.exported()).map(({ gvk, name, action }) => `${gvk} ${name} ${action}`)
    await recorder.until(async () => (await exported()).length >= 6, "six events", 20_000)
    const wanted = Object.keys(kinds).flatMap((gvk) => [`${gvk} before applied`, `${gvk} after applied`])
    expect((await exported()).sort()).toEqual(wanted.sort())
    await recorder.says(/v1\.ConfigMap: a watch line of 23 bytes at byte \d+ could not be read/)
    await recorder.says(/v1\.Service failing: .*HTTP 500/)
    expect(await recorder.metric('kubereel_kind_malformed_lines_total{kind="v1.ConfigMap"}')).toBe(1)
    expect(await recorder.stop()).toMatchObject({ code: 0 })
  })

  test("accepts and never responds from the start delays neither the HTTP interface nor the shutdown", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    sandbox.faults.blackHole()
    const recorder = place.record({ cluster: { server: sandbox.url } })
    expect((await recorder.get("/healthz")).status).toBe(200)
    expect(await recorder.get("/readyz?verbose")).toMatchObject({ status: 503 })
    const { code, tookMs } = await recorder.stop()
    expect(code).toBe(3)
    // Its own requests may take 30 s.
    expect(tookMs).toBeLessThan(patient(4000))
  })

  test("becomes silent later is detected, and what happened meanwhile is recorded", async ({ expect }) => {
    await using place = new Workplace()
    // Intervals below a second have no rhythm, and timers are sometimes early.
    await using sandbox = await Sandbox.start({ bookmarkInterval: 1500 })
    const recorder = place.record({ cluster: { server: sandbox.url } })
    await recorder.ready()
    const bookmarks = 'kubereel_kind_bookmarks_total{kind="v1.ConfigMap"}'
    await recorder.until(async () => ((await recorder.metric(bookmarks)) ?? 0) >= 3, "a rhythm of bookmarks")
    sandbox.faults.blackHole()
    sandbox.put("v1.ConfigMap", configMap("unseen"))
    await recorder.inState("v1.ConfigMap", /failing: .*no data arrived for too long/)
    sandbox.faults.resume()
    await recorder.until(async () => (await recorder.exported()).length > 0, "the change made meanwhile", 30_000)
    expect(await recorder.exported()).toMatchObject([{ action: "applied", name: "unseen" }])
  })

  test("is down at the start is waited for, and reported", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    sandbox.put("v1.ConfigMap", configMap("early"))
    await sandbox.faults.refuseConnections()
    const recorder = place.record({ cluster: { server: sandbox.url } })
    const detail = await recorder.inState("v1.ConfigMap", /failing/)
    expect(detail).toMatch(/: connection refused; is the API server running/)
    await sandbox.faults.acceptConnections()
    await recorder.until(async () => (await recorder.exported()).length === 1, "the object", 20_000)
    await recorder.inState("v1.ConfigMap", /watching/)
    // One line of trouble for any number of attempts.
    expect(recorder.log.match(/the API server cannot be reached/g)).toHaveLength(1)
    await recorder.says(/v1\.ConfigMap watching/)
  })

  test("returns with an older state, then as another cluster, leaves two gaps that say so", async ({ expect }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url } })
    await recorder.ready()
    for (let number = 0; number < 10; number++) sandbox.put("v1.ConfigMap", configMap(`object-${number}`))
    await recorder.until(async () => (await recorder.exported()).length === 10, "ten events")
    const gaps = async () => (await recorder.exported()).filter(({ action }) => action === "gap")
    sandbox.faults.restart({ revision: "lower" })
    await recorder.until(async () => (await gaps()).length === 1, "the first gap", 20_000)
    sandbox.faults.restart({ revision: "new" })
    sandbox.put("v1.ConfigMap", configMap("anew"))
    await recorder.until(async () => (await gaps()).length === 2, "the second gap", 20_000)
    expect(await gaps()).toMatchObject([
      { reason: "cluster-restored", detail: expect.stringContaining("restored from a backup") },
      { reason: "cluster-restored", detail: expect.stringContaining("this is a different cluster") },
    ])
    expect(
      recorder.log.match(/WARN .*listing: this is a different cluster than before.*a gap is recorded/g),
    ).toHaveLength(2)
    const answer = await recorder.post({ start_ts: 0, end_ts: 4e9, export_path: "x", filters: noFilters })
    expect(answer.headers.get("kubereel-gaps")).toBe("2")
    const exporting = place.reel(
      "export",
      "-o",
      place.path("all.ndjson"),
      "--start",
      "0",
      "-s",
      await recorder.listening(),
    )
    expect(await exporting.ended).toMatchObject({ code: 3 })
    expect(exporting.log).toContain("2 gaps")
  })

  test("has an unexpected certificate is reported with advice", async ({ expect }) => {
    await using place = new Workplace()
    const own = makeCertificates()
    const authority = { "certificate-authority-data": Buffer.from(own.authority).toString("base64") }
    const tls = { key: own.server.key, cert: own.server.certificate }
    await using sandbox = await Sandbox.start({ tls })
    await using elsewhere = await Sandbox.start({ tls: { key: own.elsewhere.key, cert: own.elsewhere.certificate } })
    const start = (name: string, server: string, cluster: Readonly<Record<string, unknown>>) =>
      place.record({ cluster: { server, cluster }, dataDir: place.path(name), name })
    const trouble = (recorder: ReturnType<typeof start>): Promise<string> => recorder.inState("v1.ConfigMap", /failing/)

    const withoutAuthority = start("no-authority", sandbox.url, {})
    expect(await trouble(withoutAuthority)).toMatch(
      /not signed by the expected certificate authority; is the certificate-authority in the kubeconfig/,
    )
    const otherHost = start("other-host", elsewhere.url, authority)
    expect(await trouble(otherHost)).toMatch(/is for another name \(it is for api\.internal\); .*tls-server-name/)
    const plain = start("plain", sandbox.url.replace("https", "http"), authority)
    expect(await trouble(plain)).toMatch(/write https:\/\/ in the kubeconfig/)
    expect(await plain.stop()).toMatchObject({ code: 3 })
    await start("right", sandbox.url, authority).inState("v1.ConfigMap", /watching/)
  })
})

const noFilters = { excluded_namespaces: [], excluded_labels: [] }
