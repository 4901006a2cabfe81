import { mkdirSync } from "node:fs"
import { delimiter } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { proxyFromEnvironment } from "../../../src/kube/credentials/credentials.ts"
import { describeFileError, isCredentialsError } from "../../../src/kube/credentials/errors.ts"
import { readKubeconfig, selectContext } from "../../../src/kube/credentials/select-context.ts"
import { makeCertificates } from "../certificates.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

const proxyOf = (server: string, environment: Record<string, string>): string | undefined =>
  proxyFromEnvironment(new URL(server), environment)?.url

describe("the proxy of the environment", () => {
  test.each([
    ["https://api:6443", { HTTPS_PROXY: "http://p:1" }, "http://p:1"],
    ["https://api:6443", { https_proxy: "p:1" }, "http://p:1"],
    ["https://api:6443", { HTTPS_PROXY: "http://upper", https_proxy: "http://lower" }, "http://upper"],
    ["https://api:6443", { HTTPS_PROXY: "" }, undefined],
    ["https://api:6443", { HTTP_PROXY: "http://p:1" }, undefined],
    ["http://api:8080", { HTTP_PROXY: "http://p:1" }, "http://p:1"],
    ["http://api:8080", { HTTPS_PROXY: "http://p:1" }, undefined],
    ["https://api:6443", {}, undefined],
  ])("for %s and %j is %j", (server, environment, expected) => {
    expect(proxyOf(server, environment as Record<string, string>)).toBe(expected)
  })

  test("names the variable it comes from", () => {
    expect(proxyFromEnvironment(new URL("https://api"), { https_proxy: "http://p" })?.variable).toBe("https_proxy")
  })

  test.each(["https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9", "https://[::1]:6443"])(
    "is not used for %s, which would be the proxy itself",
    (server) => {
      expect(proxyOf(server, { HTTPS_PROXY: "http://p" })).toBeUndefined()
    },
  )

  // From the documentation of Go's httpproxy.Config.NoProxy.
  test.each<[string, string, boolean]>([
    ["api.example.com", "https://api.example.com", true],
    ["example.com", "https://api.example.com", true],
    ["example.com", "https://example.com", true],
    ["example.com", "https://notexample.com", false],
    [".example.com", "https://api.example.com", true],
    [".example.com", "https://example.com", false],
    ["*.example.com", "https://api.example.com", true],
    ["*.example.com", "https://example.com", false],
    ["EXAMPLE.com", "https://API.example.COM", true],
    ["example.com:6443", "https://api.example.com:6443", true],
    ["example.com:6443", "https://api.example.com", false],
    ["example.com:443", "https://api.example.com", true],
    ["other, example.com ,more", "https://example.com", true],
    ["*", "https://anything", true],
    ["", "https://anything", false],
    [",", "https://anything", false],
    ["10.1.2.3", "https://10.1.2.3:6443", true],
    ["10.1.2.3:6443", "https://10.1.2.3:6443", true],
    ["10.1.2.3:1", "https://10.1.2.3:6443", false],
    ["1.2.3", "https://10.1.2.3", false],
    ["10.0.0.0/8", "https://10.1.2.3:6443", true],
    ["10.0.0.0/8", "https://11.1.2.3:6443", false],
    ["10.0.0.0/8", "https://ten.example.com", false],
    ["10.0.0.0/99", "https://10.1.2.3", false],
    ["fd00::/8", "https://[fd00::1]:6443", true],
    ["fd00::/8", "https://10.1.2.3", false],
    ["fd00::1", "https://[fd00::1]:6443", true],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
    ["[fd00::1]:1", "https://[fd00::1]:6443", false],
  ])("with NO_PROXY=%s for %s: exempt is %s", (list, server, isExempt) => {
    const expected = isExempt ? undefined : "http://p"
    expect(proxyOf(server, { HTTPS_PROXY: "http://p", NO_PROXY: list })).toBe(expected)
    expect(proxyOf(server, { HTTPS_PROXY: "http://p", no_proxy: list })).toBe(expected)
  })

  test("is read from any environment without an exception", () => {
    const entry = fc.oneof(fc.string(), fc.constantFrom("::/", "[", "[]:", ":1", "1.2.3.4/", "a/b", "*.", "1.2.3.4/-1"))
    fc.assert(
      fc.property(entry, fc.constantFrom("https://a.b:1", "https://[fd00::1]", "https://10.0.0.1"), (list, server) => {
        expect([undefined, "http://p"]).toContain(proxyOf(server, { HTTPS_PROXY: "p", NO_PROXY: list }))
      }),
    )
  })
})

const { authority } = makeCertificates()

const pod = (): { workspace: Workspace; environment: Record<string, string>; serviceAccountDirectory: string } => {
  const workspace = new Workspace()
  workspace.write("account/token", "pod-token")
  workspace.write("account/ca.crt", authority)
  workspace.write("account/namespace", "recorders\n")
  const environment = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" }
  return { workspace, environment, serviceAccountDirectory: workspace.path("account") }
}

describe("in a pod", () => {
  test("the service account is used, its namespace is the default, and its token is read again", async () => {
    const { workspace, ...options } = pod()
    const clock = new ManualClock()
    const credentials = await load({ ...options, clock })
    expect(await credentials.endpoint()).toEqual({
      server: "https://10.0.0.1",
      certificateAuthority: authority,
      prefersPlain: true,
      headers: [["Authorization", "Bearer pod-token"]],
    })
    expect(credentials.defaultNamespace).toBe("recorders")
    expect(credentials.description).toBe(
      'context "in-cluster" (cluster "in-cluster", user "service account") at https://10.0.0.1',
    )
    expect(credentials.refreshAfter).toBe(60_000)
    workspace.write("account/token", "renewed")
    clock.advance(60_000)
    expect(await authorizationOf(credentials)).toBe("Bearer renewed")
    workspace.write("account/token", "again")
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer again")
  })

  test("an IPv6 service address gets its brackets", async () => {
    const { environment, serviceAccountDirectory } = pod()
    const ipv6 = { ...environment, KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" }
    const credentials = await load({ environment: ipv6, serviceAccountDirectory })
    expect((await credentials.endpoint()).server).toBe("https://[fd00::1]:6443")
  })

  test("a kubeconfig takes precedence over the service account", async () => {
    const { workspace, environment, serviceAccountDirectory } = pod()
    const KUBECONFIG = workspace.write("config", kubeconfig({ token: "file" }))
    const credentials = await load({ environment: { ...environment, KUBECONFIG }, serviceAccountDirectory })
    expect(await authorizationOf(credentials)).toBe("Bearer file")
    const missing = { ...environment, KUBECONFIG: workspace.path("missing") }
    expect(await authorizationOf(await load({ environment: missing, serviceAccountDirectory }))).toBe(
      "Bearer pod-token",
    )
  })

  test("there is exactly one context", async () => {
    const { workspace: _kept, ...options } = pod()
    expect((await errorOf(load({ ...options, context: "prod" }))).message).toContain("existing contexts: in-cluster")
    expect(await authorizationOf(await load({ ...options, context: "in-cluster" }))).toBe("Bearer pod-token")
  })

  test("without a service account, or outside a pod, it is not tried", async () => {
    const { environment, serviceAccountDirectory } = pod()
    expect((await errorOf(load({ environment })))._tag).toBe("NoClusterConfigured")
    expect((await errorOf(load({ serviceAccountDirectory })))._tag).toBe("NoClusterConfigured")
  })
})

const certificates = makeCertificates()
const base64 = (text: string): string => Buffer.from(text).toString("base64")

describe("a kubeconfig", () => {
  test("of a local cluster becomes an endpoint", async () => {
    // As test setups write it: flow style, no authority, an administrator's token.
    const text = [
      "apiVersion: v1",
      "kind: Config",
      'clusters: [{name: test, cluster: {server: "https://127.0.0.1:16443", insecure-skip-tls-verify: true}}]',
      "users: [{name: admin, user: {token: admin-token}}]",
      "contexts: [{name: test, context: {cluster: test, user: admin}}]",
      "current-context: test",
    ].join("\n")
    const credentials = await load({ kubeconfig: new Workspace().write("config", text) })
    expect(await credentials.endpoint()).toEqual({
      server: "https://127.0.0.1:16443",
      skipTlsVerify: true,
      headers: [["Authorization", "Bearer admin-token"]],
    })
    expect(credentials.description).toBe('context "test" (cluster "test", user "admin") at https://127.0.0.1:16443')
    expect(credentials.defaultNamespace).toBe("default")
    expect(credentials.refreshAfter).toBeUndefined()
  })

  test("passes on everything that a cluster and a user can set", async () => {
    const cluster = {
      server: "https://[fd00::1]:6443/k8s/",
      "certificate-authority-data": base64(certificates.authority),
      "tls-server-name": "api.internal",
      "proxy-url": "http://me:secret@proxy:3128",
      "disable-compression": true,
    }
    const user = {
      "client-certificate-data": base64(certificates.client.certificate),
      "client-key-data": base64(certificates.client.key),
      username: "bob",
      password: "pass:word",
      as: "carol",
      "as-uid": "42",
      "as-groups": ["one", "two, three"],
      "as-user-extra": { "example.com/reason": ["debug", "more"], scopes: ["a"] },
    }
    const path = new Workspace().write("config", kubeconfig(user, cluster, { namespace: "team" }))
    const credentials = await load({ kubeconfig: path })
    expect(await credentials.endpoint()).toEqual({
      server: "https://[fd00::1]:6443/k8s",
      certificateAuthority: certificates.authority,
      tlsServerName: "api.internal",
      prefersPlain: true,
      clientCertificate: certificates.client.certificate,
      clientKey: certificates.client.key,
      proxy: "http://me:secret@proxy:3128",
      headers: [
        ["Authorization", `Basic ${base64("bob:pass:word")}`],
        ["Impersonate-User", "carol"],
        ["Impersonate-Uid", "42"],
        ["Impersonate-Group", "one"],
        ["Impersonate-Group", "two, three"],
        ["Impersonate-Extra-example.com%2Freason", "debug"],
        ["Impersonate-Extra-example.com%2Freason", "more"],
        ["Impersonate-Extra-scopes", "a"],
      ],
    })
    expect(credentials.defaultNamespace).toBe("team")
    expect(credentials.description).toContain('user "alice" as "carol"')
    expect(credentials.description).not.toMatch(/secret|pass/)
  })

  test("finds files relative to itself, wherever the process was started", async () => {
    const workspace = new Workspace()
    workspace.write("kube/ca.pem", certificates.authority)
    workspace.write("kube/pki/client.pem", certificates.client.certificate)
    workspace.write("kube/pki/client.key", certificates.client.key)
    workspace.write("kube/token", "from-file\n")
    const user = { "client-certificate": "pki/client.pem", "client-key": "./pki/client.key", tokenFile: "token" }
    const path = workspace.write("kube/config", kubeconfig(user, { "certificate-authority": "ca.pem" }))
    const endpoint = await (await load({ kubeconfig: path })).endpoint()
    expect(endpoint).toMatchObject({
      certificateAuthority: certificates.authority,
      clientCertificate: certificates.client.certificate,
      clientKey: certificates.client.key,
      headers: [["Authorization", "Bearer from-file"]],
    })
  })

  test("prefers inline data to files, as kubectl does", async () => {
    const cluster = {
      "certificate-authority-data": base64(certificates.authority),
      "certificate-authority": "/nonexistent",
    }
    const path = new Workspace().write("config", kubeconfig({ token: "x" }, cluster))
    expect((await (await load({ kubeconfig: path })).endpoint()).certificateAuthority).toBe(certificates.authority)
  })

  test.each([
    ["a token file before a token", { tokenFile: "token", token: "inline" }, "Bearer from-file"],
    ["the same file under its older name", { "token-file": "token" }, "Bearer from-file"],
    ["a token before a password", { token: "inline", username: "bob" }, "Bearer inline"],
    [
      "a legacy provider's token file like any other",
      { "auth-provider": { name: "x", config: { tokenFile: "token" } } },
      "Bearer from-file",
    ],
    ["nothing, if nothing is there", {}, undefined],
  ])("accepts %s", async (_name, user, expected) => {
    const workspace = new Workspace()
    workspace.write("token", "from-file")
    const credentials = await load({ kubeconfig: workspace.write("config", kubeconfig(user)) })
    expect(await authorizationOf(credentials)).toBe(expected)
  })

  test("without a user is anonymous", async () => {
    const path = new Workspace().write("config", kubeconfig({ token: "x" }, {}, { user: undefined }))
    const credentials = await load({ kubeconfig: path })
    expect((await credentials.endpoint()).headers).toEqual([])
    expect(credentials.description).toContain("anonymous")
  })

  test.each([
    ["10.0.0.1:8080", {}, "http://10.0.0.1:8080"],
    ["10.0.0.1:6443", { "insecure-skip-tls-verify": true }, "https://10.0.0.1:6443"],
  ])("with the bare address %s is interpreted as in kubectl", async (server, cluster, expected) => {
    const path = new Workspace().write("config", kubeconfig({}, { server, ...cluster }))
    expect((await (await load({ kubeconfig: path })).endpoint()).server).toBe(expected)
  })
})

describe("several kubeconfigs", () => {
  test("are merged: the first wins, and each path is relative to its own file", async () => {
    const workspace = new Workspace()
    workspace.write("one/token", "first")
    workspace.write("two/token", "second")
    const one = workspace.write(
      "one/config",
      JSON.stringify({ users: [{ name: "alice", user: { tokenFile: "token" } }] }),
    )
    const two = workspace.write("two/config", kubeconfig({ tokenFile: "token" }))
    const missing = workspace.path("missing")
    const credentials = await load({ environment: { KUBECONFIG: ["", missing, one, two].join(delimiter) } })
    expect(await authorizationOf(credentials)).toBe("Bearer first")
    const reversed = await load({ environment: { KUBECONFIG: [two, one].join(delimiter) } })
    expect(await authorizationOf(reversed)).toBe("Bearer second")
  })

  test("have the current context of the first that names one", async () => {
    const workspace = new Workspace()
    const one = workspace.write("one", JSON.stringify({ "current-context": "" }))
    const two = workspace.write("two", kubeconfig({ token: "two" }))
    const three = workspace.write("three", JSON.stringify({ "current-context": "other" }))
    const environment = { KUBECONFIG: [one, two, three].join(delimiter) }
    expect(await authorizationOf(await load({ environment }))).toBe("Bearer two")
  })

  test("are ignored if a file is given", async () => {
    const workspace = new Workspace()
    const named = workspace.write("named", kubeconfig({ token: "named" }))
    const environment = {
      KUBECONFIG: workspace.write("other", kubeconfig({ token: "other" })),
      HOME: workspace.directory,
    }
    expect(await authorizationOf(await load({ kubeconfig: named, environment }))).toBe("Bearer named")
  })

  test("are searched in the home directory if none is given", async () => {
    const workspace = new Workspace()
    workspace.write(".kube/config", kubeconfig({ token: "home" }))
    expect(await authorizationOf(await load({ environment: { HOME: workspace.directory, KUBECONFIG: "" } }))).toBe(
      "Bearer home",
    )
  })
})

describe("an error about a kubeconfig", () => {
  const messageOf = async (text: string, context?: string): Promise<string> => {
    const path = new Workspace().write("config", text)
    const { message } = await errorOf(load({ kubeconfig: path, context }).then((credentials) => credentials.endpoint()))
    // The path is part of the message; the rest is easier to read without it.
    return message.replaceAll(path, "CONFIG")
  }

  test("names every place that was searched", async () => {
    const workspace = new Workspace()
    const error = await errorOf(load({ environment: { HOME: workspace.directory }, serviceAccountDirectory: "/pod" }))
    const home = workspace.path(".kube/config")
    expect(error._tag).toBe("NoClusterConfigured")
    expect(error.message).toBe(
      `no cluster is configured: tried ${home}, the pod's service account (/pod); name a kubeconfig with --kubeconfig or KUBECONFIG`,
    )
  })

  test("says that the named file does not exist, may not be read, or is a directory", async () => {
    const workspace = new Workspace()
    const path = workspace.path("config")
    expect((await errorOf(load({ kubeconfig: path }))).message).toBe(
      `kubeconfig ${path} cannot be read: it does not exist`,
    )
    mkdirSync(path)
    expect((await errorOf(load({ kubeconfig: path }))).message).toBe(
      `kubeconfig ${path} cannot be read: it is a directory`,
    )
  })

  test("has the system's description for any file", () => {
    const failure = (code: string): Error => Object.assign(new Error(`${code}: some text`), { code })
    expect(describeFileError(failure("EACCES"))).toBe("cannot be read by this user")
    expect(describeFileError(failure("EIO"))).toBe("cannot be read: EIO: some text")
  })

  test("names the contexts that exist", async () => {
    const text = kubeconfig({})
    expect(await messageOf(text, "prod")).toBe('context "prod" not found in CONFIG; existing contexts: main')
    const without = text.replace('"current-context":"main"', '"current-context":""')
    expect(await messageOf(without)).toBe(
      "no current context is set in CONFIG; name one with --context; existing contexts: main",
    )
    expect(await messageOf("")).toBe("no current context is set in CONFIG; name one with --context; it has no contexts")
  })

  test("names the missing cluster or user of a context", async () => {
    expect(await messageOf(kubeconfig({}, {}, { cluster: "gone" }))).toBe(
      'context "main" in CONFIG names cluster "gone", which does not exist; existing clusters: prod',
    )
    expect(await messageOf(kubeconfig({}, {}, { user: "bob" }))).toBe(
      'context "main" in CONFIG names user "bob", which does not exist; existing users: alice',
    )
  })

  test.each<[string, string, string]>([
    ["not YAML", "users:\n- name: a\n  user: {token: secret", "not valid YAML at line 3, column"],
    ["something else", "- secret", "not a mapping: is this a kubeconfig?"],
    ["of the wrong shape", '{"users": {"secret": 1}}', "users is not a list"],
    ["without a server", kubeconfig({}, { server: undefined }), "clusters[0].cluster.server is missing"],
    [
      "with a server that is no URL",
      kubeconfig({}, { server: "ftp://x" }),
      'server "ftp://x" of cluster "prod" is not an http or https URL',
    ],
    [
      "with a password in the server",
      kubeconfig({}, { server: "https://a:secret@h" }),
      'server of cluster "prod" contains a user name or password',
    ],
    [
      "with a token of digits",
      kubeconfig({ token: 1234567890 }),
      'token of user "alice" is not text: put it in quotes',
    ],
    [
      "with a certificate but no key",
      kubeconfig({ "client-certificate": "a" }),
      'client-certificate of user "alice" is set, but client-key is not',
    ],
    [
      "with a key but no certificate",
      kubeconfig({ "client-key": "a" }),
      'client-key of user "alice" is set, but client-certificate is not',
    ],
    [
      "with data that is not PEM",
      kubeconfig({}, { "certificate-authority-data": "secret" }),
      'certificate-authority-data of cluster "prod" is not base64-encoded PEM data',
    ],
    ["with groups but no user to act as", kubeconfig({ "as-groups": ["secret"] }), 'as of user "alice" is missing'],
    [
      "with a proxy of another kind",
      kubeconfig({}, { "proxy-url": "socks4://secret@h" }),
      'proxy-url of cluster "prod" names a socks4 proxy',
    ],
    [
      "with a proxy that is no URL",
      kubeconfig({}, { "proxy-url": "secret" }),
      'proxy-url of cluster "prod" is not a URL',
    ],
    [
      "with a plugin but no command",
      kubeconfig({ exec: { apiVersion: "x" } }),
      'exec.command of user "alice" is missing',
    ],
    [
      "with a plugin of no version",
      kubeconfig({ exec: { command: "x" } }),
      'exec.apiVersion of user "alice" is missing',
    ],
    [
      "with a plugin that must ask somebody",
      kubeconfig({ exec: { command: "x", apiVersion: "y", interactiveMode: "Always" } }),
      'exec.interactiveMode of user "alice" is Always',
    ],
    ["with a NUL in a path", kubeconfig({ tokenFile: "a\0b" }), 'tokenFile of user "alice" contains a NUL character'],
  ])("%s names the problem and its place, and no secret", async (_name, text, expected) => {
    const message = await messageOf(text)
    expect(message).toContain(expected)
    expect(message).not.toMatch(/secret|1234567/)
  })

  test("is not raised for an unused entry", async () => {
    const config = JSON.parse(kubeconfig({ token: "x" })) as {
      users: object[]
      clusters: object[]
      contexts: unknown[]
    }
    config.users.push({ name: "broken", user: { "token-file": "/nonexistent", token: 5 } }, { user: {} })
    config.clusters.push({ name: "broken", cluster: {} })
    config.contexts.push({ name: "broken" }, null, 3)
    const path = new Workspace().write("config", JSON.stringify(config))
    expect(await authorizationOf(await load({ kubeconfig: path }))).toBe("Bearer x")
  })

  test("is one of ours, whatever the file contains", async () => {
    const workspace = new Workspace()
    const key = fc.constantFrom(
      "token",
      "tokenFile",
      "exec",
      "auth-provider",
      "as",
      "as-groups",
      "as-user-extra",
      "client-key",
      "username",
    )
    const clusterKey = fc.constantFrom(
      "certificate-authority-data",
      "proxy-url",
      "extensions",
      "tls-server-name",
      "server",
    )
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constant({ command: "x", apiVersion: "y", args: [1], env: [{ name: "a" }] }),
    )
    const text = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.dictionary(key, value), fc.dictionary(clusterKey, value))
        .map(([user, cluster]) => kubeconfig(user, cluster)),
    )
    await fc.assert(
      fc.asyncProperty(text, async (content) => {
        const path = workspace.write("config", content)
        try {
          const { user } = selectContext(await readKubeconfig([path]), undefined)
          expect(user.name).toBe("alice")
        } catch (error) {
          if (!isCredentialsError(error)) throw error
          expect(error.message).not.toBe("")
        }
      }),
      { numRuns: 150 },
    )
  })
})
