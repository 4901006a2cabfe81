/**
 * Loaded into the programs that a page's commands start (`NODE_OPTIONS`): the ports of KUBEREEL_TEST_MOVED_PORTS (`7777=41234,8001=41235`) are
 * others, as in a network of their own. Pages name the default ports, which on this machine may be in use.
 */
import { Server, Socket } from "node:net"

const moved = new Map(
  (process.env.KUBEREEL_TEST_MOVED_PORTS ?? "").split(",").map((pair) => pair.split("=").map(Number)),
)

const place = (port) => moved.get(Number(port)) ?? port

// net.connect has put what it was given into an array, the options first.
const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  if (options?.port !== undefined) options.port = place(options.port)
  return connect.apply(this, args)
}

const { listen } = Server.prototype
Server.prototype.listen = function (first, ...others) {
  const target =
    typeof first === "object" ? { ...first, ...("port" in first && { port: place(first.port) }) } : place(first)
  return listen.call(this, target, ...others)
}
