/** A review server over real HTTPS, with clients that API servers are not. */
import { Agent, type RequestOptions, request } from "node:https"
import { connect, type Socket } from "node:net"
import { expect, onTestFinished, test } from "vitest"
import { makeServerCertificate } from "../../../src/host/admission/certificate.ts"
import { ReviewServer } from "../../../src/host/admission/review-server.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"

const [notBeforeMs, notAfterMs] = [Date.now() - 1000, Date.now() + 3_600_000]
const certificate = makeServerCertificate({ host: "127.0.0.1", notBeforeMs, notAfterMs })
const review = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { uid: "u" } })

const started = async (answer: () => Promise<object> = async () => ({ allowed: true })) => {
  const problems: string[] = []
  const timers: { ms: number; action: () => void }[] = []
  let nowMs = 0
  const server = await ReviewServer.start({
    ...{ address: "127.0.0.1", port: 0, certificate, at: () => answer },
    onProblem: (problem) => problems.push(problem),
    clock: {
      monotonicMs: () => nowMs,
      after: (ms, action) => {
        timers.push({ ms, action })
        return { cancel: () => undefined }
      },
    },
  })
  onTestFinished(() => server.close())
  const options: RequestOptions = { host: "127.0.0.1", port: server.port, method: "POST", ca: certificate.authority }
  const post = (body: string, agent = new Agent({ keepAlive: false })) =>
    new Promise<number>((resolve, reject) => {
      request({ ...options, agent }, (response) => response.resume().on("end", () => resolve(response.statusCode ?? 0)))
        .on("error", reject)
        .end(body)
    })
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { server, problems, options, post, pass, timers }
}

test("Bodies that are being read take at most 64 MiB together", { timeout: patient(20_000) }, async () => {
  const { post, options } = await started()
  const megabytes = Buffer.alloc(8 * 1024 * 1024 - 1, 32)
  const open = Array.from({ length: 8 }, () =>
    request({ ...options, agent: new Agent({ keepAlive: false }) }).on("error", () => undefined),
  )
  await Promise.all(
    open.map((sent) => {
      sent.setHeader("content-length", megabytes.length + 1)
      return new Promise((resolve) => sent.write(megabytes, resolve))
    }),
  )
  // Eight bytes are left.
  await eventually(async () => expect(await post(review)).toBe(503))
  for (const sent of open) sent.destroy()
  await eventually(async () => expect(await post(review)).toBe(200))
})

test("Connections that send nothing do not shut out those that send reviews", {
  timeout: patient(20_000),
}, async () => {
  const { post, server } = await started()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const idle: Socket[] = []
  onTestFinished(() => idle.forEach((socket) => void socket.destroy()))
  const open = async (count: number) => {
    for (let left = count; left > 0; left -= 50)
      await Promise.all(
        Array.from({ length: Math.min(50, left) }, () => {
          const socket = connect(server.port, "127.0.0.1").on("error", () => undefined)
          idle.push(socket)
          return new Promise((resolve) => socket.once("connect", resolve))
        }),
      )
  }
  await open(600)
  expect(await post(review, agent)).toBe(200)
  const [kept] = Object.values(agent.freeSockets).flat()
  await open(600)
  expect(await post(review)).toBe(200)
  // Those that were open before it are closed first.
  expect(kept?.destroyed).toBe(false)
  expect(await post(review, agent)).toBe(200)
  expect(idle[0]?.destroyed).toBe(true)
})

test("The same bad request is reported once a minute, with how often it came", async () => {
  const { post, problems, pass } = await started()
  for (let times = 0; times < 4; times++) expect(await post("no")).toBe(400)
  expect(await post("{}")).toBe(400)
  const notJson = "a review was refused: the body is not JSON"
  const noReview = "a review was refused: the body is no AdmissionReview or ConversionReview of version v1"
  expect(problems).toEqual([notJson, noReview])
  pass(60_000)
  await post("no")
  expect(problems).toEqual([notJson, noReview, `${notJson} (and 3 times since it was last said)`])
})

test("At the end reviews under way are answered, and what takes longer than 2 s is cut", async () => {
  const answers: ((response: object) => void)[] = []
  const { post, server, timers } = await started(() => new Promise((resolve) => answers.push(resolve)))
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const idle = connect(server.port, "127.0.0.1").on("error", () => undefined)
  const first = post(review, agent)
  await eventually(() => expect(answers).toHaveLength(1))
  const second = post(review, agent)
  second.catch(() => undefined)
  await eventually(() => expect(answers).toHaveLength(2))
  const closed = server.close()
  await new Promise((resolve) => idle.once("close", resolve))
  await expect(post(review)).rejects.toThrow("ECONNREFUSED")
  answers[0]?.({ allowed: true })
  expect(await first).toBe(200)
  expect(timers.map(({ ms }) => ms)).toEqual([2000])
  timers[0]?.action()
  await closed
  await expect(second).rejects.toThrow("socket hang up")
})
