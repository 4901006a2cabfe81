/** Real HTTPS, as an API server uses it. */
import { Agent, request } from "node:https"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { makeServerCertificate, type ReviewServer } from "../../../src/host/index.ts"
import {
  type PatchOperation,
  type PodReview,
  startWebhookServer,
} from "../../../src/simulation/webhook/webhook-server.ts"

const certificate = makeServerCertificate({
  host: "127.0.0.1",
  notBeforeMs: Date.now() - 1000,
  notAfterMs: Date.now() + 60_000,
})
const operation: PatchOperation = { op: "add", path: "/metadata/labels", value: { a: "b" } }
let review: (given: PodReview) => Promise<ReadonlyArray<PatchOperation>>
let problems: string[]
let server: ReviewServer

beforeEach(async () => {
  review = async () => [operation]
  problems = []
  server = await startWebhookServer({
    address: "127.0.0.1",
    port: 0,
    path: "/mutate",
    certificate,
    review: (given) => review(given),
    onProblem: (problem) => problems.push(problem),
  })
})
afterEach(() => server.close())

const post = (path: string, body: string | Buffer, method = "POST") =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    const agent = new Agent({ keepAlive: false })
    const sent = request(
      { host: "127.0.0.1", port: server.port, path, method, ca: certificate.authority, agent },
      (response) => {
        const chunks: Buffer[] = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
      },
    )
    sent.on("error", reject).end(body)
  })

const admissionReview = (more: object = {}): string => {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "web-" }, spec: { containers: [] } }
  const about = { uid: "u-1", operation: "CREATE", namespace: "virtual-shop", object: pod }
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { ...about, ...more } })
}

const responseOf = (body: string) => JSON.parse(body).response

describe("a review of a pod", () => {
  test.each(["/mutate", "/mutate?timeout=5s"])("at %s is allowed, with the patch in base64", async (path) => {
    const { status, body } = await post(path, admissionReview())
    expect([status, JSON.parse(body)]).toMatchObject([
      200,
      { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
    ])
    const { patch, ...rest } = responseOf(body)
    expect(rest).toEqual({ uid: "u-1", allowed: true, patchType: "JSONPatch" })
    expect(JSON.parse(Buffer.from(patch, "base64").toString())).toEqual([operation])
  })

  test("that fails is allowed without a patch, and reported", async () => {
    review = () => Promise.reject(new Error("no idea"))
    expect(responseOf((await post("/mutate", admissionReview())).body)).toEqual({ uid: "u-1", allowed: true })
    expect(problems).toEqual(["pod virtual-shop/web- lives as the cluster decides: no idea"])
  })

  test("knows the state before, and whether anything is stored", async () => {
    const seen: PodReview[] = []
    review = async (given) => {
      seen.push(given)
      return []
    }
    const pod = { kind: "Pod", metadata: { name: "a" }, spec: {} }
    await post("/mutate", admissionReview({ operation: "UPDATE", object: pod, oldObject: pod, dryRun: true }))
    expect(seen).toMatchObject([{ operation: "UPDATE", before: pod, pod, isDryRun: true }])
  })
})

test("a review of anything else is allowed as it is", async () => {
  for (const more of [{ operation: "DELETE", object: null }, { object: { kind: "Binding", metadata: {} } }])
    expect(responseOf((await post("/mutate", admissionReview(more))).body)).toEqual({ uid: "u-1", allowed: true })
})

test("what is no review is refused", async () => {
  const huge = Buffer.alloc(9 * 1024 * 1024, " ")
  const statuses = [
    await post("/", admissionReview()),
    await post("/mutate/other", huge),
    await post("/mutate", "", "GET"),
    await post("/mutate", "{"),
    await post("/mutate", JSON.stringify({ apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview" })),
    await post("/mutate", huge),
  ].map(({ status }) => status)
  expect(statuses).toEqual([404, 404, 405, 400, 400, 413])
  expect(problems).toEqual([
    "a review was refused: the body is not JSON",
    "a review was refused: the body is no AdmissionReview or ConversionReview of version v1",
    "a review was refused: the body has more than 8388608 bytes",
  ])
})
