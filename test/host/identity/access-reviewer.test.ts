/** What ServiceAccounts may do according to a sandbox with RBAC, over real HTTP, on a clock that the test advances. */

import { describe, expect, onTestFinished, test } from "vitest"
import { AccessReviewer, type AccessUnknown } from "../../../src/host/identity/access-reviewer.ts"
import { userOfAccount } from "../../../src/host/identity/service-account.ts"
import { kinds, Reviews } from "../../../src/kube/index.ts"
import { account, type Rule, read, review, start } from "./as-account.ts"

const bot = userOfAccount(account)

const withReviewer = async (hostRules: ReadonlyArray<Rule> = [review], options: { maximumAnswers?: number } = {}) => {
  const started = await start(hostRules)
  const reviews = new Reviews(started.host, "kubereel/host")
  onTestFinished(() => reviews.close())
  const troubles: Array<AccessUnknown | undefined> = []
  const onTrouble = (problem: AccessUnknown | undefined): unknown => troubles.push(problem)
  const reviewer = new AccessReviewer({ reviews, clock: started.clock, onTrouble, ...options })
  const asked = (): number => started.sandbox.requests.count({ resource: "subjectaccessreviews" })
  const may = async (...question: Parameters<typeof reviewer.answer>): Promise<boolean> =>
    (await reviewer.answer(...question)) === true
  return { ...started, may, asked, troubles }
}

describe("A reviewer", () => {
  test("knows what is allowed in a namespace, in all, and on the cluster", async () => {
    const { may: ask, grant } = await withReviewer()
    grant([read("configmaps", "list")], "shop")
    grant([read("pods", "list"), read("nodes", "get")])
    const may = async (verb: string, kind: (typeof kinds)[keyof typeof kinds], namespace?: string) =>
      ask(bot, verb, kind, namespace)
    expect(await may("list", kinds.configMaps, "shop")).toBe(true)
    expect(await may("watch", kinds.configMaps, "shop")).toBe(false)
    expect(await may("list", kinds.configMaps, "other")).toBe(false)
    expect(await may("list", kinds.configMaps)).toBe(false)
    expect([await may("list", kinds.pods, "any"), await may("list", kinds.pods)]).toEqual([true, true])
    expect([await may("get", kinds.nodes), await may("get", kinds.nodes, "ignored")]).toEqual([true, true])
  })

  test("asks once about a right in all namespaces, about each of many only without it, and once however many wait", async () => {
    const { may, grant, asked } = await withReviewer()
    grant([read("pods", "list")])
    const namespaces = Array.from({ length: 20 }, (_, index) => `n-${index}`)
    const allowed = (kind: (typeof kinds)[keyof typeof kinds]) =>
      Promise.all(namespaces.map((namespace) => may(bot, "list", kind, namespace)))
    expect(await allowed(kinds.pods)).toEqual(Array(20).fill(true))
    expect(asked()).toBe(1)
    // Another object for the same user is the same question.
    expect(await may(userOfAccount(account), "list", kinds.pods, "other")).toBe(true)
    expect(asked()).toBe(1)
    grant([read("configmaps", "list")], "n-7")
    expect((await allowed(kinds.configMaps)).flatMap((is, index) => (is ? [index] : []))).toEqual([7])
    expect(asked()).toBe(1 + 1 + 20)
  })

  test("notices a right that is taken away after a minute, and a new one after ten seconds", async () => {
    const { may: ask, grant, clock, sandbox } = await withReviewer()
    const may = () => ask(bot, "list", kinds.pods, "shop")
    expect(await may()).toBe(false)
    grant([read("pods", "list")], "shop")
    clock.advance(9999)
    expect(await may()).toBe(false)
    clock.advance(1)
    expect(await may()).toBe(true)
    sandbox.delete("rbac.authorization.k8s.io/v1.RoleBinding", "shop", "bot-shop")
    clock.advance(59_999)
    expect(await may()).toBe(true)
    clock.advance(1)
    expect(await may()).toBe(false)
  })

  test("forgets the oldest answers beyond its limit", async () => {
    const { may, asked } = await withReviewer([review], { maximumAnswers: 2 })
    for (const kind of [kinds.pods, kinds.configMaps, kinds.events, kinds.configMaps]) await may(bot, "list", kind)
    expect(asked()).toBe(3)
    await may(bot, "list", kinds.pods)
    expect(asked()).toBe(4)
  })
})

describe("If the server cannot be asked", () => {
  test("nothing is allowed, the missing right of the host is told once, and the question is repeated after a second", async () => {
    const { may, grant, troubles, setHostRules, clock, asked } = await withReviewer([])
    grant([read("pods", "list")])
    expect(await may(bot, "list", kinds.pods, "shop")).toBe(false)
    expect(troubles.map((problem) => problem?.message)).toEqual([
      expect.stringMatching(
        /^cannot find out whether system:serviceaccount:default:bot may list pods: .*; the host needs a ClusterRole with create on subjectaccessreviews\.authorization\.k8s\.io$/,
      ),
    ])
    const before = asked()
    expect([await may(bot, "list", kinds.pods, "shop"), asked()]).toEqual([false, before])
    setHostRules([review])
    clock.advance(1000)
    expect(await may(bot, "list", kinds.pods, "shop")).toBe(true)
    expect(troubles.at(-1)).toBe(undefined)
    expect(troubles).toHaveLength(2)
  })

  test("because it is down, the answer is no, not an exception", async () => {
    const { may, sandbox, troubles, grant } = await withReviewer()
    grant([read("pods", "list")])
    await sandbox.faults.refuseConnections()
    expect(await may(bot, "list", kinds.pods)).toBe(false)
    expect(troubles[0]?.isForbidden).toBe(false)
    await sandbox.faults.acceptConnections()
  })
})
