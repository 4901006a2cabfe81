import { expect, test } from "vitest"
import { serverTrouble } from "../../../src/recorder/status/server-trouble.ts"
import { isRefusedCredentials, withAdvice, withConnectionAdvice } from "../../../src/recorder/status/trouble-advice.ts"

test.each([
  ["discovery: 10.0.0.1:6443: connection refused", /; is the API server running/],
  ["discovery: a.invalid:1: host not found", /; check the server in the kubeconfig$/],
  ["list: HTTP 401 Unauthorized: Unauthorized", /; log in again, .* credentials on disk are read again automatically$/],
  [
    "x: the server's certificate has expired, 12 bytes of a line were truncated",
    /; renew it, or check this machine's clock$/,
  ],
  ["list: HTTP 400 : Client sent an HTTP request to an HTTPS server.", /; write https:\/\/ in the kubeconfig$/],
])("%s comes with what to do", (reason, advice) => {
  const advised = withAdvice(reason)
  expect(advised.startsWith(reason.replace(/\.$/, ""))).toBe(true)
  expect(advised).toMatch(advice)
})

test("a command that runs once is not told that the recorder reads credentials again", () => {
  expect(withConnectionAdvice("localhost:1: connection refused")).toMatch(/; is the API server running/)
  expect(withConnectionAdvice("list: HTTP 401 Unauthorized")).toBe("list: HTTP 401 Unauthorized")
})

test("a reason without advice is unchanged", () => {
  for (const reason of ["from version 7", "list: HTTP 500 InternalError: no (SUCH_CODE)", ""]) {
    expect(withAdvice(reason)).toBe(reason)
  }
})

test("what a server says about connections of its own is not about the connection to it", () => {
  const reason = "list: HTTP 503 ServiceUnavailable: dial tcp 10.0.0.7:443: connect: connection refused"
  expect(withAdvice(reason)).toBe(reason)
  expect(serverTrouble(reason)).toBeUndefined()
})

test("refused credentials are those of a 401, and client certificates that are refused in the handshake", () => {
  for (const reason of [
    "list: HTTP 401 Unauthorized: Unauthorized",
    "localhost:1: the server requires a client certificate",
    "localhost:1: the server refused the client certificate: it has expired",
  ])
    expect(isRefusedCredentials(reason)).toBe(true)
  for (const reason of ["list: HTTP 403 Forbidden: no", "localhost:1: the server's certificate has expired", ""])
    expect(isRefusedCredentials(reason)).toBe(false)
})
