import { expect, test } from "vitest"
import { withAdvice, withConnectionAdvice } from "../../../src/recorder/notices/trouble-advice.ts"

test.each([
  ["discovery: 10.0.0.1:6443: connect ECONNREFUSED 10.0.0.1:6443 (ECONNREFUSED)", /; connection refused: /],
  ["discovery: a.invalid:1: getaddrinfo ENOTFOUND a.invalid (ENOTFOUND)", /; host not found: /],
  ["list: HTTP 401 Unauthorized: Unauthorized", /; the credentials are not accepted: /],
  [
    "x: certificate has expired (CERT_HAS_EXPIRED), 12 bytes of a line were truncated",
    /; the certificate has expired: /,
  ],
])("%s comes with what to do", (reason, advice) => {
  const advised = withAdvice(reason)
  expect(advised.startsWith(reason)).toBe(true)
  expect(advised).toMatch(advice)
})

test("a command that runs once is not told that the recorder reads credentials again", () => {
  expect(withConnectionAdvice("connect ECONNREFUSED (ECONNREFUSED)")).toMatch(/; connection refused: /)
  expect(withConnectionAdvice("list: HTTP 401 Unauthorized")).toBe("list: HTTP 401 Unauthorized")
})

test("Node's advice for those who start Node is removed", () => {
  const code = "(UNABLE_TO_VERIFY_LEAF_SIGNATURE)"
  const reason = `unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca ${code}`
  expect(withAdvice(reason)).toMatch(
    /^unable to verify the first certificate \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\); the server's certificate is not signed/,
  )
})

test("a reason without advice is unchanged", () => {
  for (const reason of ["from version 7", "list: HTTP 500 InternalError: no (SUCH_CODE)", ""]) {
    expect(withAdvice(reason)).toBe(reason)
  }
})
