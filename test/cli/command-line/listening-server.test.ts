/** What `reel host` serves, over real HTTP. */
import { request } from "node:http"
import { expect, test } from "vitest"
import { serveHost } from "../../../src/cli/command-line/listening-server.ts"

test("metrics are refused to a host name that is not the server's own, as a rebound web page has; probes are not", async () => {
  const metrics = async () => [
    { name: "kubereel_test", type: "gauge" as const, help: "It is.", samples: [{ value: 1 }] },
  ]
  await using server = await serveHost({ host: "127.0.0.1", port: 0 }, { conditions: () => [], metrics })
  const get = (path: string, host: string): Promise<readonly [number | undefined, string]> =>
    new Promise((resolve, reject) => {
      const sent = request(`${server.url}${path}`, { headers: { host }, agent: false }, async (response) => {
        let body = ""
        for await (const piece of response) body += String(piece)
        resolve([response.statusCode, body])
      })
      sent.on("error", reject).end()
    })
  for (const host of ["rebound.example", "rebound.example:80", "localhost.example"]) {
    const [status, body] = await get("/metrics", host)
    expect([host, status]).toEqual([host, 421])
    expect(body).not.toContain("kubereel_test")
  }
  for (const host of ["localhost:1", "127.0.0.1", "[::1]:9"])
    expect(await get("/metrics", host)).toEqual([200, expect.stringContaining("kubereel_test 1")])
  for (const path of ["/healthz", "/readyz"]) expect((await get(path, "rebound.example"))[0]).toBe(200)
})
