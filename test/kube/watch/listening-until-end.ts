/** Servers that stand in front of an API server until the test ends. */
import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { onTestFinished } from "vitest"
import type { ApiEndpoint } from "../../../src/kube/index.ts"

/** The same endpoint, by way of the server. */
export const listeningUntilEnd = async (server: Server, target: ApiEndpoint): Promise<ApiEndpoint> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })
  return { ...target, server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
