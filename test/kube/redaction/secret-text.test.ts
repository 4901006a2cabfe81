import fc from "fast-check"
import { expect, test } from "vitest"
import { defaultRedaction, NamePatterns, redactionOf } from "../../../src/kube/redaction/redaction-rules.ts"

import { valueOption, withoutPasswords, withoutValues, withoutWord } from "../../../src/kube/redaction/secret-text.ts"
import { ValueHash } from "../../../src/kube/redaction/value-hash.ts"
import { rounds } from "../../harness/effort.ts"

const hash = new ValueHash(Buffer.from("0123456789abcdef0123456789abcdef"))
const rules = redactionOf({ group: "", version: "v1", kind: "Pod" }, defaultRedaction)
const names = { values: new NamePatterns(rules?.arguments ?? []), headers: new NamePatterns(rules?.headers ?? []) }

/** Hashes as `#` and the value that they stand for. */
const shown = (text: string, ...values: ReadonlyArray<string>): string =>
  values.reduce((shorter, value) => shorter.replaceAll(hash.of(value), `#${value}#`), text)
const commandLine = (text: string): string => withoutValues(text, names, hash)?.text ?? text
const address = (text: string): string => withoutPasswords(text, hash)?.text ?? text

test.each([
  ["--password=hunter2", "--password=#hunter2#"],
  ["-password=hunter2 with spaces, and more", "-password=#hunter2 with spaces, and more#"],
  ["-Dspring.datasource.password=hunter2", "-Dspring.datasource.password=#hunter2#"],
  ["--dbPassword=hunter2", "--dbPassword=#hunter2#"],
  ["--api-keys=hunter2", "--api-keys=#hunter2#"],
  ["--auth=hunter2", "--auth=#hunter2#"],
  ["server --token hunter2 --verbose", "server --token #hunter2# --verbose"],
  ["PGPASSWORD='hunter2' psql -h db", "PGPASSWORD='#hunter2#' psql -h db"],
  ['export TOKEN="hunter2"; run', 'export TOKEN="#hunter2#"; run'],
  ['curl -H "Authorization: Bearer hunter2" http://a/', 'curl -H "Authorization: #Bearer hunter2#" http://a/'],
  ["curl -H 'X-Api-Key: hunter2'", "curl -H 'X-Api-Key: #hunter2#'"],
  ["Cookie: session=hunter2; other=1", "Cookie: #session=hunter2; other=1#"],
  ["curl -u admin:hunter2 http://a/", "curl -u admin:#hunter2# http://a/"],
  ["--user=admin:hunter2", "--user=admin:#hunter2#"],
  ['{"password": "hunter2", "user": "a"}', '{"password": "#hunter2#", "user": "a"}'],
  [String.raw`curl -d "{\"token\":\"hunter2\"}"`, String.raw`curl -d "{\"token\":\"#hunter2#\"}"`],
  ["password: hunter2\nuser: a", "password: #hunter2#\nuser: a"],
  ["--set auth.password=hunter2", "--set auth.password=#hunter2#"],
  [String.raw`PASS="hunter2\"more" x`, String.raw`PASS="#hunter2\"more#" x`],
])("of %s only the value goes", (text, expected) => {
  const values = [...expected.matchAll(/#([^#]*)#/g)].map(([, value]) => value as string)
  expect(shown(commandLine(text), ...values)).toBe(expected)
})

test.each([
  ["--password=$(DB_PASSWORD)"],
  ["PGPASSWORD=$DB_PASSWORD psql"],
  ['mysql --password="$\u{7b}DB_PASSWORD}"'],
  ["TOKEN=$(cat /var/run/token) run"],
  ["--token-auth-file=/etc/tokens.csv"],
  ["--authorization-mode=Node,RBAC"],
  ["--enable-bootstrap-token-auth=true"],
  ["--kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key"],
  ["--tls-private-key-file /etc/tls.key"],
  ["--service-account-issuer=https://kubernetes.default.svc"],
  ["--password="],
  ["--user=1000:1000"],
  ["--password=redacted:0123456789abcdef"],
  ["sleep infinity"],
])("%s names a value and does not have it, or has none", (text) => {
  expect(withoutValues(text, names, hash)).toBeUndefined()
})

test("an option takes the next word as its value, unless that is an option or a reference", () => {
  expect(["--token", "-u", "--token-file", "--verbose", "token"].map((word) => valueOption(word, names))).toEqual([
    "value",
    "user",
    undefined,
    undefined,
    undefined,
  ])
  expect(withoutWord("hunter2", "value", hash)).toEqual({ text: hash.of("hunter2"), values: 1 })
  expect(withoutWord("admin:hunter2", "user", hash)).toEqual({ text: `admin:${hash.of("hunter2")}`, values: 1 })
  for (const word of ["--other", "$(TOKEN)", "true"]) expect(withoutWord(word, "value", hash)).toBeUndefined()
})

test.each([
  ["postgres://app:hunter2@db:5432/shop", "postgres://app:#hunter2#@db:5432/shop"],
  ["redis://:hunter2@cache", "redis://:#hunter2#@cache"],
  ["amqp://a:p@ss@mq/, http://b:x@c", "amqp://a:#p@ss#@mq/, http://b:#x#@c"],
  ["a://b:pa/ss@c/d", "a://b:#pa/ss#@c/d"],
  ["mongodb://a:b@h1:1,h2:2/?x=y", "mongodb://a:#b#@h1:1,h2:2/?x=y"],
  ["https://ghp_0123456789abcdefghij@github.com/a", "https://#ghp_0123456789abcdefghij#@github.com/a"],
  ["https://0123456789abcdefghij:x@github.com", "https://#0123456789abcdefghij#:#x#@github.com"],
])("of the address %s the password goes", (text, expected) => {
  const values = [...expected.matchAll(/#([^#]*)#/g)].map(([, value]) => value as string)
  expect(shown(address(text), ...values)).toBe(expected)
  expect(withoutPasswords(address(text), hash)).toBeUndefined()
})

test.each([
  ["ssh://git@github.com/a"],
  ["oci://registry:5000/app@sha256:0123456789abcdef"],
  ["http://[::1]:80/a@b"],
  ["postgres://app:$(PASSWORD)@db/"],
  ["postgres://app:$\u{7b}PASSWORD}@db/"],
  ["http://a/?mail=b:c@d"],
  ["a:b@c"],
])("the address %s stays", (text) => {
  expect(withoutPasswords(text, hash)).toBeUndefined()
})

test("what is replaced once is not replaced again, and time is linear whatever the text is", () => {
  const pieces = fc.constantFrom(
    "--password",
    "=",
    " ",
    "'",
    '"',
    "\\",
    ":",
    "TOKEN",
    "x",
    "://",
    "@",
    "/",
    "$(",
    ")",
    "\n",
    "-u",
    "a:b",
    "Cookie: ",
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
      const once = address(commandLine(parts.join("")))
      expect(address(once).length).toBeLessThan(once.length + 100)
    }),
    { numRuns: rounds(1000) },
  )
  for (const piece of ["://", "a://b:c", "--password='", 'token="', "password:\\", "u u:", "x".repeat(7), "Cookie:'"]) {
    const text = piece.repeat(100_000 / piece.length)
    const start = performance.now()
    withoutPasswords(text, hash)
    withoutValues(text, names, hash)
    expect(performance.now() - start).toBeLessThan(4000)
  }
})
