/** Kinds by the names that people use, from the built-in ones and from a server. */
import { describe, expect, test } from "vitest"
import { isExactKind, readKind, readKinds } from "../../../src/cli/command-line/kind-option.ts"
import { discoverKinds, findKind, HttpClient } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { startWebServer } from "../../kube/http/web-server.ts"

const meant = (text: string): string => {
  const reading = readKind(text)
  return reading.tag === "kind" ? reading.text : reading.problem
}

describe("a name", () => {
  test.each([
    ["deployment", "apps/v1.Deployment"],
    ["deploy", "apps/v1.Deployment"],
    ["Deployment", "apps/v1.Deployment"],
    ["DEPLOYMENTS", "apps/v1.Deployment"],
    ["deployments.apps", "apps/v1.Deployment"],
    ["deployments.v1.apps", "apps/v1.Deployment"],
    ["apps/v1.Deployment", "apps/v1.Deployment"],
    ["po", "v1.Pod"],
    ["v1.Pod", "v1.Pod"],
    ["ing", "networking.k8s.io/v1.Ingress"],
    ["ingresses", "networking.k8s.io/v1.Ingress"],
    ["hpa", "autoscaling/v2.HorizontalPodAutoscaler"],
    ["events", "v1.Event"],
    ["events.events.k8s.io", "events.k8s.io/v1.Event"],
    ["example.com/v1.Cactus", "example.com/v1.Cactus"],
  ])("%s means %s", (name, kind) => {
    expect(meant(name)).toBe(kind)
  })

  test.each([
    ["deploymnet", "; did you mean apps/v1.Deployment?"],
    ["statefullsets", "; did you mean apps/v1.StatefulSet?"],
    ["deployments.app", "; did you mean apps/v1.Deployment?"],
    ["cactus", "; write it as GROUP/VERSION.KIND, such as apps/v1.Deployment"],
    ["", "; write it as GROUP/VERSION.KIND, such as apps/v1.Deployment"],
  ])("%s means nothing", (name, advice) => {
    expect(meant(name)).toBe(`unknown kind "${name}"${advice}`)
  })

  test("is exact if it has a version, as a group has none", () => {
    expect(["v1.Pod", "apps/v1.Deployment", "v1beta1.Thing", "/v1.Pod"].map(isExactKind)).toEqual(Array(4).fill(true))
    expect(["deployments.apps", "Pod", "apps/Deployment", ""].map(isExactKind)).toEqual(Array(4).fill(false))
  })

  test("of an unknown plural is recognised by English rules", () => {
    const kinds = ["Policy", "Gateway", "Cactus", "Mesh"].map((kind) => ({
      gvk: { group: "example.com", version: "v1", kind },
      plural: undefined,
    }))
    const found = ["policies", "gateways", "cactuses", "meshes", "policy.example.com", "polices"]
    expect(found.map((name) => findKind(name, kinds)?.kind)).toEqual([
      "Policy",
      "Gateway",
      "Cactus",
      "Mesh",
      "Policy",
      undefined,
    ])
  })
})

describe("the kinds of a server", () => {
  const asked = async (server: string) => {
    const client = new HttpClient({ server, headers: [] }, { userAgent: "kubereel/test" })
    try {
      return await discoverKinds(client)
    } finally {
      client.close()
    }
  }

  test("are known by the names that it states", async () => {
    await using sandbox = await Sandbox.start()
    sandbox.register({
      gvk: { group: "example.com", version: "v1", kind: "Cactus" },
      plural: "cacti",
      namespaced: true,
    })
    const discovered = await asked(sandbox.url)
    if (discovered.tag === "failed") throw new Error(discovered.detail)
    const names = ["cacti", "cactus.example.com", "deploy", "pods"]
    expect(await readKinds(names, async () => discovered.kinds)).toEqual([
      { group: "example.com", version: "v1", kind: "Cactus" },
      { group: "example.com", version: "v1", kind: "Cactus" },
      { group: "apps", version: "v1", kind: "Deployment" },
      { group: "", version: "v1", kind: "Pod" },
    ])
  })

  test("are read in the aggregated form", async () => {
    const groups: Readonly<Record<string, unknown>> = {
      "/api": { kind: "APIGroupDiscoveryList", items: [] },
      "/apis": {
        kind: "APIGroupDiscoveryList",
        items: [
          {
            metadata: { name: "example.com" },
            versions: [
              {
                version: "v2",
                resources: [
                  {
                    resource: "cacti",
                    responseKind: { group: "example.com", version: "v2", kind: "Cactus" },
                    singularResource: "cactus",
                    shortNames: ["ct"],
                  },
                ],
              },
            ],
          },
        ],
      },
    }
    await using server = await startWebServer((request, response) => {
      expect(request.headers.accept).toContain("as=APIGroupDiscoveryList")
      response.end(JSON.stringify(groups[request.url ?? ""]))
    })
    expect(await asked(`http://127.0.0.1:${server.port}`)).toEqual({
      tag: "kinds",
      isAggregated: true,
      silentGroups: new Set(),
      kinds: [
        {
          gvk: { group: "example.com", version: "v2", kind: "Cactus" },
          plural: "cacti",
          singular: "cactus",
          shortNames: ["ct"],
          verbs: [],
          isNamespaced: false,
        },
      ],
    })
  })

  test("cannot be read from a server that refuses, or is none", async () => {
    await using refusing = await startWebServer((_request, response) => response.writeHead(401).end())
    expect(await asked(`http://127.0.0.1:${refusing.port}`)).toEqual({
      tag: "failed",
      detail: expect.stringMatching(/^HTTP 401/),
    })
    await using other = await startWebServer((_request, response) => response.end("<html>"))
    expect(await asked(`http://127.0.0.1:${other.port}`)).toEqual({
      tag: "failed",
      detail: "/api did not return JSON: is this a Kubernetes API server?",
    })
  })
})
