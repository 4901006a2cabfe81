import { expect, test } from "vitest"
import { CredentialRefresh } from "../../../src/kube/credentials/credential-refresh.ts"
import type { ApiEndpoint, EndpointSource } from "../../../src/kube/endpoint.ts"

/** A source that counts its calls, and fails while it is told to. */
class ScriptedSource implements EndpointSource {
  given: ApiEndpoint = { server: "https://one", headers: [] }
  failure: Error | undefined
  problem: { readonly message: string } | undefined
  readonly asked: string[] = []

  async endpoint(): Promise<ApiEndpoint> {
    this.asked.push("endpoint")
    if (this.failure !== undefined) throw this.failure
    return this.given
  }
  async onUnauthorized(): Promise<void> {
    this.asked.push("onUnauthorized")
  }
}

const refreshing = () => {
  const source = new ScriptedSource()
  const heard: Array<ApiEndpoint | string> = []
  const refresh = new CredentialRefresh(source, {
    had: (endpoint) => heard.push(endpoint),
    trouble: (reason) => {
      if (reason !== undefined) heard.push(reason)
    },
  })
  return { source, heard, refresh }
}

test("many concurrent 401s cause one refresh", async () => {
  const { source, heard, refresh } = refreshing()
  refresh.refresh()
  refresh.refresh()
  await refresh.renew()
  expect(source.asked).toEqual(["onUnauthorized", "endpoint"])
  expect(heard).toEqual([source.given])
})

test("a watcher that starts while no credentials can be obtained gets the last ones", async () => {
  const { source, heard, refresh } = refreshing()
  const first = await refresh.current()
  source.failure = new Error("the plugin failed")
  expect(await refresh.current()).toBe(first)
  expect(await refresh.renew()).toBe(false)
  expect(heard).toEqual([first, "the plugin failed", "the plugin failed"])
})

test("without any credentials a watcher cannot start", async () => {
  const { source, refresh } = refreshing()
  source.failure = new Error("the plugin failed")
  await expect(refresh.current()).rejects.toThrow("the plugin failed")
})

test("older credentials that are still used are reported with the reason", async () => {
  const { source, heard, refresh } = refreshing()
  source.problem = { message: "the token file is gone" }
  expect(await refresh.renew()).toBe(false)
  expect(heard).toEqual(["the token file is gone", source.given])
})
