import { onTestFinished } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { HttpClient, type HttpClientOptions } from "../../../src/kube/http/http-client.ts"

/** A client that is closed with the test. `server`: its URL, or the endpoint; without headers if it says nothing else. */
export const clientFor = (
  server: string | (Omit<ApiEndpoint, "headers"> & Partial<ApiEndpoint>),
  options: Partial<HttpClientOptions> = {},
): HttpClient => {
  const endpoint = typeof server === "string" ? { server } : server
  const client = new HttpClient({ headers: [], ...endpoint }, { userAgent: "kubereel/test", ...options })
  onTestFinished(() => client.close())
  return client
}
