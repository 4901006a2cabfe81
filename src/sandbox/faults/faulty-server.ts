/** An API server with faults on command. */

import { ApiServer, type ApiServerOptions, type ApiServerParts, type Backend } from "../../apiserver/index.ts"
import { systemClock } from "../../clock.ts"
import { Faults } from "./faults.ts"

export interface FaultyServerOptions extends ApiServerOptions {
  /** The user that 403 responses name as refused. Default `system:serviceaccount:default:reader`. */
  readonly user?: string
}

/** A server and its faults. Closing the server does not end the faults: close them first. */
export interface FaultyServer {
  readonly server: ApiServer
  readonly faults: Faults
}

/** Listens; rejects with the system's error if the port is taken. */
export const listenWithFaults = async (
  backend: Backend,
  options: FaultyServerOptions,
  parts: Omit<ApiServerParts, "hooks"> = {},
): Promise<FaultyServer> => {
  const { clock = systemClock, expiredAs = "stream", user = "system:serviceaccount:default:reader" } = options
  const faults = new Faults({
    clock,
    expiredAs,
    user,
    connections: {
      drop: () => server.dropConnections(),
      refuse: () => server.refuseConnections(),
      accept: () => server.acceptConnections(),
    },
  })
  const server: ApiServer = await ApiServer.listen(backend, options, {
    gitVersion: "v1.34.4+sandbox",
    ...parts,
    hooks: faults.hooks,
  })
  return { server, faults }
}
