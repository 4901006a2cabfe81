import { expect, test } from "vitest"
import type { StoreAddress } from "../../../src/blob/addresses/target-address.ts"
import { TargetError, targetError, targetErrorOf } from "../../../src/blob/requests/target-error.ts"

const address: StoreAddress = { provider: "gs", host: undefined, region: undefined, bucket: "traces", key: "a b" }

const thrown = (fields: Readonly<Record<string, unknown>>, message = ""): Error =>
  Object.assign(new Error(message), fields)

test.each<[string, unknown, string, string]>([
  [
    "S3's refusal",
    thrown({ name: "AccessDenied", Code: "AccessDenied", $metadata: { httpStatusCode: 403 } }, "Access Denied"),
    "denied",
    "AccessDenied: Access Denied",
  ],
  [
    "S3's missing bucket",
    thrown({ name: "NoSuchBucket", $metadata: { httpStatusCode: 404 } }, "The specified bucket does not exist"),
    "no-bucket",
    "NoSuchBucket: The specified bucket does not exist",
  ],
  [
    "S3's upload that somebody else has ended",
    thrown({ name: "NoSuchUpload", $metadata: { httpStatusCode: 404 } }, "The specified upload does not exist."),
    "failed",
    "NoSuchUpload: The specified upload does not exist.",
  ],
  [
    "S3's overload",
    thrown({ name: "SlowDown", $metadata: { httpStatusCode: 503 } }, "Please reduce your request rate."),
    "throttled",
    "SlowDown: Please reduce your request rate.",
  ],
  [
    "credentials that nobody has",
    thrown({ name: "CredentialsProviderError" }, "Could not load credentials from any providers"),
    "credentials",
    "Could not load credentials from any providers",
  ],
  [
    "Google's refusal",
    thrown({ code: 403, status: 403, response: { status: 403 } }, "me@x does not have storage.objects.create access"),
    "denied",
    "me@x does not have storage.objects.create access",
  ],
  [
    "an Azure answer without a body",
    thrown({ name: "RestError", statusCode: 404, details: { errorCode: "ContainerNotFound" } }),
    "no-bucket",
    "ContainerNotFound",
  ],
  ["an Azure answer that says nothing", thrown({ name: "RestError", statusCode: 500 }), "failed", "HTTP 500"],
  [
    "a refused connection to two addresses, of which Node gives no message",
    new AggregateError([
      thrown({ code: "ECONNREFUSED" }, "connect ECONNREFUSED ::1:9"),
      thrown({ code: "ECONNREFUSED" }),
    ]),
    "unreachable",
    "connect ECONNREFUSED ::1:9",
  ],
  [
    "a certificate that nobody vouches for",
    thrown({ cause: thrown({ code: "SELF_SIGNED_CERT_IN_CHAIN" }, "self-signed certificate") }, "fetch failed"),
    "unreachable",
    "SELF_SIGNED_CERT_IN_CHAIN: fetch failed",
  ],
  [
    "a name that does not resolve",
    thrown({ code: "ENOTFOUND" }, "getaddrinfo ENOTFOUND s3.invalid"),
    "unreachable",
    "getaddrinfo ENOTFOUND s3.invalid",
  ],
  ["a time-out", thrown({ name: "TimeoutError" }, "socket timed out"), "deadline", "socket timed out"],
  ["a text", "out of order", "failed", "out of order"],
  ["nothing", undefined, "failed", "the store gave no reason"],
])("%s", (_, cause, code, reason) => {
  expect(targetErrorOf(address, cause)).toMatchObject({ provider: "gs", bucket: "traces", key: "a b", code, reason })
})

test("an error names the object and is one line of bounded length", () => {
  const error = targetError(address, "failed", `line 1\n  line 2 ${"x".repeat(1000)}`)
  expect(error.message).toMatch(/^cannot write gs:\/\/traces\/a%20b: line 1 line 2 x+…$/)
  expect(error.message.length).toBeLessThan(450)
})

test("an error contains no signature and no upload session", () => {
  const said = "PUT https://x/?upload_id=ABPnzm-secret&sig=hush%3D failed; AccountKey=hush=="
  const { reason } = targetError(address, "failed", said)
  expect(reason).toContain("failed")
  expect(reason).not.toMatch(/hush|ABPnzm/)
})

test("a TargetError is returned unchanged", () => {
  const error = targetError(address, "too-large", "too many parts")
  expect(targetErrorOf({ ...address, key: "b" }, error)).toBe(error)
  expect(error).toBeInstanceOf(TargetError)
})
