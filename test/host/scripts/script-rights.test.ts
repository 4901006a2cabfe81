/** What scripts may watch, in real threads on a sandbox with RBAC over real HTTP. */
import { expect, test } from "vitest"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { checksOnTick } from "../dispatcher/checks-on-tick.ts"
import { hostWithAccounts } from "../dispatcher/host-with-accounts.ts"
import { account, makeTokens, type Rule, read, review, start } from "../identity/as-account.ts"
import { watchingScripts } from "./watching-script.ts"

const everything: Rule = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }
const secret = "v1.Secret"
const bot = { kind: secret, serviceAccount: account }

const withScripts = async () => {
  const started = await start([makeTokens, review, everything])
  const { sandbox, host: endpoints, clock: accessClock } = started
  const { clock, tick } = checksOnTick()
  const hosted = hostWithAccounts({ endpoints, clock, accessClock })
  const put = (name: string, namespace: string): void => {
    sandbox.put(secret, { metadata: { name, namespace } })
  }
  const stateOf = async (name: string) =>
    (await hosted.host.scripts.statistics()).find((each) => each.name === name)?.controllers[0]?.state
  return { ...started, ...hosted, ...watchingScripts(hosted), tick, put, stateOf }
}

test("A script gets nothing but what its account may watch, although a neighbour in its thread watches all", {
  timeout: patient(60_000),
}, async () => {
  const { grant, add, has, put, logOf, notes, sandbox, clock, tick, stateOf } = await withScripts()
  grant([read("secrets")], "shop")
  await add("neighbour", { kind: secret })
  put("mine", "shop")
  put("theirs", "lab")
  await has("neighbour", /^is theirs$/m)
  await add("allowed", { ...bot, namespace: "shop" })
  await add("all", bot)
  await add("other", { ...bot, namespace: "lab" })
  await has("allowed", /^is mine$/m)
  for (const name of ["all", "other"])
    await eventually(() =>
      expect(notes.join("\n")).toMatch(
        new RegExp(`${name}: waiting for the right to watch v1.Secret: .*cannot list resource "secrets"`),
      ),
    )
  put("later", "lab")
  put("last", "shop")
  await has("neighbour", /^is later$/m)
  await has("allowed", /^is last$/m)
  expect(logOf("allowed")).not.toMatch(/theirs|later/)
  expect([logOf("all"), logOf("other"), await stateOf("other")]).toEqual(["", "", "waiting"])
  // What the neighbour has costs no second watch, and no second one at the hub for those who may have the same.
  grant([read("secrets")])
  clock.advance(10_000)
  await tick()
  await has("all", /^is theirs$/m)
  await has("other", /^is later$/m)
  expect(sandbox.requests.count({ resource: "secrets", verb: "watch" })).toBe(1)
})

test("A right that is taken away stops the controllers that need it and no others, until it is given back", {
  timeout: patient(60_000),
}, async () => {
  const { grant, add, has, put, logOf, notes, sandbox, clock, tick, stateOf, host } = await withScripts()
  grant([read("secrets")])
  await add("neighbour", { kind: secret })
  await add("script", { ...bot, indexed: true })
  put("first", "shop")
  await has("script", /^is first$/m)
  expect((await host.hubStatistics())?.subscriptions).toHaveLength(1)
  sandbox.delete("rbac.authorization.k8s.io/v1.ClusterRoleBinding", "", "bot-all")
  // The cached review still counts.
  await tick()
  put("second", "shop")
  await has("script", /^is second$/m)
  clock.advance(60_000)
  await tick()
  await eventually(() =>
    expect(notes.join("\n")).toMatch(/script: the right to watch v1.Secret was taken away, .*cannot list/),
  )
  await eventually(async () => expect(await stateOf("script")).toBe("waiting"))
  put("third", "shop")
  sandbox.delete(secret, "shop", "first")
  await has("neighbour", /^is third$/m)
  await has("neighbour", /^gone first$/m)
  expect(logOf("script")).not.toMatch(/third|gone/)
  grant([read("secrets")])
  clock.advance(10_000)
  await tick()
  await has("script", /^is third$/m)
  // The index is there again.
  expect(logOf("script")).toMatch(/^indexes third$/m)
  put("fourth", "shop")
  await has("script", /^is fourth$/m)
  expect(await stateOf("neighbour")).toBe("reconciling")
})
