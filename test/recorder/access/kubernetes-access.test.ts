/** Access by reviews, over real HTTP: against a server with scripted responses, and against the sandbox. */
import { describe, expect, test } from "vitest"
import { Reviews } from "../../../src/kube/index.ts"
import type { Action } from "../../../src/recorder/access/access.ts"
import {
  allowedMs,
  kubernetesAccess,
  maximumQuestions,
  refusedMs,
} from "../../../src/recorder/access/kubernetes-access.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { type ReviewQuestion, type ReviewReply, ReviewServer } from "./review-server.ts"

const ci = {
  username: "system:serviceaccount:shop:ci",
  uid: "1234",
  groups: ["system:serviceaccounts", "system:authenticated"],
  extra: { "authentication.kubernetes.io/credential-id": ["JTI=1"] },
}

const forbidden = (what: string): ReviewReply => ({
  code: 403,
  body: JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: `${what} is forbidden` }),
})

interface Surroundings {
  readonly server: string
  readonly nowMs?: () => number
  readonly token?: () => string
  readonly unauthorized?: () => void
}

const accessTo = ({ server, nowMs = () => 0, token = () => "own", unauthorized = () => undefined }: Surroundings) => {
  const troubles: (string | undefined)[] = []
  const credentials = {
    endpoint: async () => ({ server, headers: [["Authorization", `Bearer ${token()}`]] as const }),
    onUnauthorized: async () => unauthorized(),
  }
  const access = kubernetesAccess({
    reviews: new Reviews(credentials, "kubereel/test"),
    namespace: "kubereel",
    clock: { monotonicMs: nowMs },
    trouble: (reason) => troubles.push(reason),
  })
  const decide = (action: Action, bearer = "presented") =>
    access.decide({ "kubereel-authorization": `Bearer ${bearer}` }, action)
  return { access, decide, troubles, [Symbol.dispose]: () => access.close() }
}

/** A server where one user has the permissions in `may`. */
const serverFor = (may: (attributes: ReviewQuestion["spec"]) => boolean): Promise<ReviewServer> =>
  ReviewServer.start(({ path, spec }) =>
    path.endsWith("/tokenreviews")
      ? {
          status:
            spec.token === "presented" ? { authenticated: true, user: ci } : { authenticated: false, error: "no" },
        }
      : { status: { allowed: may(spec) } },
  )

describe("the API server decides who has access", () => {
  test("an export requires create, read-only requests get, in the recorder's namespace; metrics and pins have paths", async () => {
    await using server = await serverFor(() => true)
    using asked = accessTo({ server: server.url })
    for (const action of ["export", "coverage", "metrics", "list-pins", "create-pin", "delete-pin"] as const)
      expect(await asked.decide(action)).toEqual({ tag: "allowed", who: ci.username })
    const reviews = server.questions.filter(({ path }) => path.endsWith("/subjectaccessreviews"))
    const { username: user, ...who } = ci
    const resource = { group: "kubereel.dev", resource: "exports", namespace: "kubereel" }
    expect(reviews.map(({ spec }) => spec)).toEqual([
      { user, ...who, resourceAttributes: { ...resource, verb: "create" } },
      { user, ...who, resourceAttributes: { ...resource, verb: "get" } },
      { user, ...who, nonResourceAttributes: { path: "/metrics", verb: "get" } },
      { user, ...who, nonResourceAttributes: { path: "/v1/pins", verb: "get" } },
      { user, ...who, nonResourceAttributes: { path: "/v1/pins", verb: "create" } },
      { user, ...who, nonResourceAttributes: { path: "/v1/pins", verb: "delete" } },
    ])
    expect(new Set(server.questions.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer own"]))
  })

  test("without the permission it is a 403 that names the user, what is missing, and the rule that grants it", async () => {
    await using server = await serverFor(() => false)
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("export")).toEqual({
      tag: "refused",
      status: 403,
      message:
        "system:serviceaccount:shop:ci may not create exports.kubereel.dev in namespace kubereel. A Role there, bound to this user, " +
        'needs the rule {apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create"]}',
    })
    expect(await asked.decide("metrics")).toMatchObject({
      status: 403,
      message: expect.stringContaining('{nonResourceURLs: ["/metrics"], verbs: ["get"]}'),
    })
    expect(await asked.decide("create-pin")).toMatchObject({
      status: 403,
      message: expect.stringContaining('{nonResourceURLs: ["/v1/pins"], verbs: ["create"]}'),
    })
  })

  test("an unknown token is a 401, and a request without a token is not reviewed", async () => {
    await using server = await serverFor(() => true)
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("export", "stolen")).toMatchObject({
      status: 401,
      message: expect.not.stringContaining("stolen"),
    })
    expect(server.questions).toHaveLength(1)
    expect(await asked.access.decide({}, "export")).toMatchObject({ tag: "refused", status: 401 })
    expect(server.questions).toHaveLength(1)
  })

  test("a user without a name is not authenticated", async () => {
    await using server = await ReviewServer.start(() => ({ status: { authenticated: true, user: { username: "" } } }))
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("export")).toMatchObject({ status: 401 })
  })

  test("the server's remark on a denial is passed on, on one line", async () => {
    await using server = await ReviewServer.start(({ path }) => ({
      status: path.endsWith("/tokenreviews")
        ? { authenticated: true, user: { username: "jane" } }
        : { allowed: false, evaluationError: 'role "x" not\nfound' },
    }))
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("coverage")).toMatchObject({
      message: expect.stringMatching(/\(the API server adds: role "x" not\\u\{a\}found\)$/),
    })
  })
})

describe("a decision is cached", () => {
  test("for a minute if positive, for seconds if negative, by token and action", async () => {
    let nowMs = 0
    let isBound = false
    await using server = await serverFor(() => isBound)
    using asked = accessTo({ server: server.url, nowMs: () => nowMs })
    const statusOf = async (action: Action) => {
      const decision = await asked.decide(action)
      return decision.tag === "refused" ? decision.status : 200
    }
    expect(await statusOf("export")).toBe(403)
    isBound = true
    nowMs = refusedMs - 1
    expect(await statusOf("export")).toBe(403)
    expect(await statusOf("coverage")).toBe(200)
    nowMs = refusedMs
    expect(await statusOf("export")).toBe(200)
    isBound = false
    nowMs = refusedMs + allowedMs - 1
    expect(await statusOf("export")).toBe(200)
    nowMs = refusedMs + allowedMs
    expect(await statusOf("export")).toBe(403)
  })

  test("identical concurrent requests share one review", async () => {
    await using server = await serverFor(() => true)
    using asked = accessTo({ server: server.url })
    const decisions = await Promise.all(Array.from({ length: 50 }, () => asked.decide("export")))
    expect(new Set(decisions.map(({ tag }) => tag))).toEqual(new Set(["allowed"]))
    expect(server.questions).toHaveLength(2)
  })

  test("many tokens at once do not cause as many reviews", async () => {
    await using server = await ReviewServer.start(() => "nothing")
    using asked = accessTo({ server: server.url })
    const waiting = Array.from({ length: maximumQuestions }, (_, number) => asked.decide("export", `token-${number}`))
    expect(await asked.decide("export", "one-more")).toMatchObject({ status: 503 })
    asked.access.close()
    for (const decision of await Promise.all(waiting)) expect(decision).toMatchObject({ status: 503 })
  })
})

describe("when the API server cannot be asked", () => {
  test("a 401 makes the recorder read its own credentials again and repeat the review", async () => {
    let own = "old"
    await using server = await ReviewServer.start(({ authorization, path }) => {
      if (authorization !== "Bearer new") return { code: 401, body: "" }
      return { status: path.endsWith("/tokenreviews") ? { authenticated: true, user: ci } : { allowed: true } }
    })
    const unauthorized = () => {
      own = "new"
    }
    using asked = accessTo({ server: server.url, token: () => own, unauthorized })
    expect(await asked.decide("export")).toMatchObject({ tag: "allowed" })
    expect(server.questions.map(({ authorization }) => authorization)).toEqual([
      "Bearer old",
      "Bearer new",
      "Bearer new",
    ])
  })

  test("because the recorder lacks the permission, the response says what its account needs, and the log once", async () => {
    await using server = await ReviewServer.start(() => forbidden("tokenreviews.authentication.k8s.io"))
    using asked = accessTo({ server: server.url })
    for (const _ of [1, 2])
      expect(await asked.decide("export")).toEqual({
        tag: "refused",
        status: 503,
        message: expect.stringContaining("create on tokenreviews.authentication.k8s.io and subjectaccessreviews"),
      })
    expect(asked.troubles).toEqual([expect.stringMatching(/^TokenReview: HTTP 403: tokenreviews.* is forbidden\. /)])
  })

  test.each<[string, ReviewReply]>([
    ["an error", { code: 500, body: "out of order" }],
    ["no JSON", { code: 201, body: "<html>" }],
    ["no review", { code: 201, body: "[]" }],
  ])("because it answers %s, nobody is let in, and nothing is remembered", async (_, reply) => {
    let isWell = false
    await using server = await ReviewServer.start(({ path }) => {
      if (!isWell) return reply
      return { status: path.endsWith("/tokenreviews") ? { authenticated: true, user: ci } : { allowed: true } }
    })
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("export")).toMatchObject({ tag: "refused", status: 503 })
    isWell = true
    expect(await asked.decide("export")).toMatchObject({ tag: "allowed" })
    expect(asked.troubles).toEqual([expect.stringContaining("TokenReview: "), undefined])
  })

  test("because nothing listens, no one has access", async () => {
    const server = await serverFor(() => true)
    await server[Symbol.asyncDispose]()
    using asked = accessTo({ server: server.url })
    expect(await asked.decide("export")).toMatchObject({ tag: "refused", status: 503 })
    expect(asked.troubles).toEqual([expect.stringMatching(/: connection refused$/)])
  })
})

test("the sandbox, which allows everything, gives access to known users", async () => {
  await using sandbox = await Sandbox.start()
  using asked = accessTo({ server: sandbox.url })
  expect(await asked.decide("export")).toEqual({ tag: "allowed", who: "sandbox" })
  sandbox.put("v1.ServiceAccount", { metadata: { name: "ci", namespace: "shop" } })
  const path = "/api/v1/namespaces/shop/serviceaccounts/ci/token"
  const { text } = await sandbox.request({ method: "POST", path, body: { spec: { audiences: ["somebody-else"] } } })
  const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
  expect(await asked.decide("export", token)).toMatchObject({ status: 401 })
})
