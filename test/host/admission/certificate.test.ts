import { X509Certificate } from "node:crypto"
import { createServer, request } from "node:https"
import type { AddressInfo } from "node:net"
import fc from "fast-check"
import { expect, test } from "vitest"
import { makeServerCertificate } from "../../../src/host/admission/certificate.ts"
import { rounds } from "../../harness/effort.ts"

const now = 1_763_700_000_000
const validity = { notBeforeMs: now, notAfterMs: now + 7 * 86_400_000 }

test("is signed by its authority, for one name or address, for the time requested, and for servers only", () => {
  const { authority, certificate } = makeServerCertificate({ host: "replay.simulation.svc", ...validity })
  const [issuer, leaf] = [new X509Certificate(authority), new X509Certificate(certificate)]
  expect(leaf.verify(issuer.publicKey) && issuer.verify(issuer.publicKey)).toBe(true)
  expect(leaf.checkIssued(issuer)).toBe(true)
  expect([issuer.ca, leaf.ca]).toEqual([true, false])
  expect(leaf.subjectAltName).toBe("DNS:replay.simulation.svc")
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"])
  expect([leaf.validFromDate.getTime(), leaf.validToDate.getTime()]).toEqual(Object.values(validity))
})

test("can be for any IP address, after 2050 too", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.integer({ min: 0, max: 4_000_000_000 }), (host, seconds) => {
      const notBeforeMs = seconds * 1000
      const { certificate } = makeServerCertificate({ host, notBeforeMs, notAfterMs: notBeforeMs + 1000 })
      const leaf = new X509Certificate(certificate)
      expect(leaf.checkIP(host)).toBe(host)
      expect(leaf.validFromDate.getTime()).toBe(notBeforeMs)
    }),
    { numRuns: rounds(60) },
  )
})

test("is accepted by a client that trusts its authority, and by no other", async () => {
  const ours = makeServerCertificate({
    host: "127.0.0.1",
    notBeforeMs: Date.now() - 1000,
    notAfterMs: Date.now() + 60_000,
  })
  const other = makeServerCertificate({ host: "127.0.0.1", ...validity })
  const server = createServer({ cert: ours.certificate, key: ours.key }, (_request, response) => response.end("yes"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const ask = (ca: string): Promise<string> =>
    new Promise((resolve) => {
      const asked = request({ host: "127.0.0.1", port, ca, agent: false }, (response) => {
        response.resume().on("end", () => resolve("accepted"))
      })
      asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "")).end()
    })
  try {
    expect(await ask(ours.authority)).toBe("accepted")
    expect(await ask(other.authority + ours.authority)).toBe("accepted")
    expect(await ask(other.authority)).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE")
  } finally {
    server.close()
  }
})
