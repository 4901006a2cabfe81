import { afterEach, describe, expect, test } from "vitest"
import { RevisionNotHeldError, Sandbox, type SandboxOptions } from "../../src/library/sandbox.ts"
import { brief, getJson, Watch } from "./client.ts"

const opened: Array<{ close(): unknown }> = []
const start = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const sandbox = await Sandbox.start(options)
  opened.push(sandbox)
  return sandbox
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((resource) => resource.close()))
})

const put = (sandbox: Sandbox, name: string, value: string): void => {
  sandbox.put("v1.ConfigMap", { metadata: { name }, data: { value } })
}

/** `name@version=value` of every ConfigMap, as a client lists them. */
const contents = async (sandbox: Sandbox): Promise<ReadonlyArray<string>> => {
  const { items } = await getJson(`${sandbox.url}/api/v1/configmaps`)
  return items.map(
    ({ metadata, data }) => `${metadata.name}@${metadata.resourceVersion}=${(data as { value: string }).value}`,
  )
}

const ledger = (sandbox: Sandbox): ReadonlyArray<string> =>
  sandbox.ledger
    .of("v1.ConfigMap")
    .map(({ epoch, name, resourceVersion, action, restored }) =>
      [epoch, action, `${name}@${resourceVersion}`, ...(restored ? ["restored"] : [])].join(" "),
    )

/** a and b created, a changed, b deleted, c created: revisions 1003 to 1007. */
const history = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const sandbox = await start(options)
  put(sandbox, "a", "1")
  put(sandbox, "b", "1")
  put(sandbox, "a", "2")
  sandbox.delete("v1.ConfigMap", "default", "b")
  put(sandbox, "c", "1")
  return sandbox
}

test("a plain restart drops the connections and keeps everything: a watch resumes without a gap", async () => {
  const sandbox = await history()
  const uid = sandbox.clusterUid
  const stream = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1007`)
  sandbox.faults.restart()
  expect(await stream.ended).toBe("cut")
  const resumed = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1003`)
  expect((await resumed.take(4)).map(brief)).toEqual([
    "ADDED b@1004",
    "MODIFIED a@1005",
    "DELETED b@1006",
    "ADDED c@1007",
  ])
  resumed.close()
  expect(sandbox.clusterUid).toBe(uid)
})

describe("etcd restored from a backup", () => {
  test("holds exactly its state at that revision, and sends nothing to clients with newer versions", async () => {
    const sandbox = await history()
    const uid = sandbox.clusterUid
    sandbox.faults.restart({ revision: 1004 })
    expect(await contents(sandbox)).toEqual(["a@1003=1", "b@1004=1"])
    expect([sandbox.resourceVersion, sandbox.clusterUid]).toEqual(["1004", uid])
    const ahead = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1007`)
    const behind = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1003`)
    expect((await behind.next()).object).toMatchObject({ code: 410 })
    put(sandbox, "d", "1")
    sandbox.bookmarkNow()
    const current = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1004`)
    expect(brief(await current.next())).toBe("ADDED d@1005")
    expect(ahead.lines).toEqual([])
    for (const stream of [ahead, current]) stream.close()
    expect(ledger(sandbox)).toEqual([
      "0 applied a@1003",
      "0 applied b@1004",
      "0 applied a@1005",
      "0 deleted b@1006",
      "0 applied c@1007",
      "1 applied a@1003 restored",
      "1 applied b@1004 restored",
      "1 applied d@1005",
    ])
  })

  test("goes half way back for `lower`", async () => {
    const sandbox = await history()
    sandbox.faults.restart({ revision: "lower" })
    expect(sandbox.resourceVersion).toBe("1003")
    expect(await contents(sandbox)).toEqual(["a@1003=1"])
  })

  test("can keep all objects, under versions that are not above the revision", async () => {
    const sandbox = await history()
    sandbox.faults.restart({ revision: 1004, keepObjects: true })
    expect(await contents(sandbox)).toEqual(["a@1003=2", "c@1004=1"])
    sandbox.faults.restart({ revision: "lower", keepObjects: true })
    expect(sandbox.resourceVersion).toBe("502")
    expect(await contents(sandbox)).toEqual(["a@501=2", "c@502=1"])
  })

  test("can lose all objects but the Namespaces", async () => {
    const sandbox = await history()
    const uid = sandbox.clusterUid
    sandbox.faults.restart({ revision: 900, keepObjects: false })
    expect(await contents(sandbox)).toEqual([])
    expect(sandbox.clusterUid).toBe(uid)
  })

  test("can put objects back into a given state", async () => {
    const sandbox = await history()
    const revert = [{ gvk: "v1.ConfigMap", object: { metadata: { name: "a" }, data: { value: "old" } } }]
    sandbox.faults.restart({ revision: 1004, keepObjects: true, revert })
    expect((await contents(sandbox)).map((line) => line.replace(/@\d+/, ""))).toEqual(["a=old", "c=1"])
    for (const line of await contents(sandbox)) expect(Number(/@(\d+)/.exec(line)?.[1])).toBeLessThanOrEqual(1004)
  })

  test("is refused without effect if the history does not reach back that far", async () => {
    const sandbox = await history({ historyLimit: 2 })
    const stream = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1007`)
    expect(() => sandbox.faults.restart({ revision: 1004 })).toThrow(RevisionNotHeldError)
    put(sandbox, "d", "1")
    expect(brief(await stream.next())).toBe("ADDED d@1008")
    stream.close()
  })

  test("continues generations and creation times from the backup", async () => {
    const sandbox = await start()
    const spec = (replicas: number) => ({ metadata: { name: "web" }, spec: { replicas } })
    const first = sandbox.put("apps/v1.Deployment", spec(1))
    sandbox.put("apps/v1.Deployment", spec(2))
    sandbox.faults.restart({ revision: 1003 })
    const { metadata } = sandbox.put("apps/v1.Deployment", spec(3))
    expect(metadata).toMatchObject({ uid: first.metadata.uid, generation: 2, resourceVersion: "1004" })
    expect(metadata.creationTimestamp).toBe(first.metadata.creationTimestamp)
  })
})

test("a restart at a higher revision only advances the counter", async () => {
  const sandbox = await history()
  sandbox.faults.restart({ revision: 5000 })
  put(sandbox, "d", "1")
  expect(await contents(sandbox)).toEqual(["a@1005=2", "c@1007=1", "d@5001=1"])
  expect(sandbox.ledger.epoch).toBe(0)
})

describe("another cluster behind the address", () => {
  test("has another identity, low versions, and nothing in it", async () => {
    const sandbox = await history()
    const uid = sandbox.clusterUid
    sandbox.faults.restart({ revision: "new" })
    expect(sandbox.clusterUid).not.toBe(uid)
    expect(await contents(sandbox)).toEqual([])
    expect(sandbox.resourceVersion).toBe("2")
  })

  test("may hold objects of the same names, all of them other objects", async () => {
    const sandbox = await history()
    const before = sandbox.get("v1.ConfigMap", "default", "a")
    const uid = sandbox.clusterUid
    sandbox.faults.restart({ revision: "new", keepObjects: true })
    const after = sandbox.get("v1.ConfigMap", "default", "a")
    expect(after?.data).toEqual(before?.data)
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid)
    expect(sandbox.clusterUid).not.toBe(uid)
    expect(Number(sandbox.resourceVersion)).toBe(4)
  })
})
