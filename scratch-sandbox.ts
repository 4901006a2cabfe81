import { createServer, request } from "node:http"
import { LocalCluster } from "./src/sandbox/index.ts"
import { writeKubeconfig } from "./src/sandbox/local-cluster.ts"
const cluster = await LocalCluster.start({ nodes: 3 })
const { port } = new URL(cluster.sandbox.url)
const server = createServer({ shouldUpgradeCallback: (r) => r.headers.upgrade === "websocket" }, (req, res) => {
  const chunks: Buffer[] = []
  req.on("data", (c) => chunks.push(c)).on("end", () => {
    const body = Buffer.concat(chunks)
    const { "content-type": type, accept, "accept-encoding": enc, "user-agent": agent } = req.headers
    const q = request({ port, method: req.method, path: req.url, headers: req.headers }, (r) => {
      console.log(JSON.stringify([req.method, req.url, r.statusCode, type, accept, enc, agent, body.subarray(0, Number(process.env.BODY ?? 0)).toString()]))
      res.writeHead(r.statusCode ?? 0, r.headers); r.pipe(res)
    })
    q.end(body)
  })
})
server.on("upgrade", (req, socket, head) => {
  const q = request({ port, method: req.method, path: req.url, headers: req.headers })
  q.on("upgrade", (r, s, h) => {
    console.log(JSON.stringify(["UPGRADE", req.url, 101, req.headers]))
    socket.write("HTTP/1.1 101 Switching Protocols\r\n" + Object.entries(r.headers).map(([k, v]) => `${k}: ${v}`).join("\r\n") + "\r\n\r\n")
    s.write(head); socket.write(h); s.pipe(socket); socket.pipe(s)
  })
  q.on("response", (r) => { console.log("UPGRADE refused", req.url, r.statusCode); socket.destroy() })
  q.end()
})
server.listen(0, "127.0.0.1", async () => {
  const { port: own } = server.address() as { port: number }
  await writeKubeconfig("/tmp/b-clients-kubeconfig", `http://127.0.0.1:${own}`)
  console.log("ready")
})
