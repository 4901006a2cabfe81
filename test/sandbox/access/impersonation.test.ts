/** Acting as somebody else, over HTTP. The texts are those of Kubernetes 1.34.4. */

import { describe, expect, test } from "vitest"
import { grant, withAuthorization } from "./requests.ts"

const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

describe("The impersonated user", () => {
  test.each([
    ["bob", {}, { username: "bob", groups: ["system:authenticated"] }],
    [
      "bob",
      { "Impersonate-Group": ["g", "h"], "Impersonate-Uid": "u", "Impersonate-Extra-A%2Fb": ["v", "w"] },
      { username: "bob", uid: "u", groups: ["g", "h", "system:authenticated"], extra: { "a/b": ["v", "w"] } },
    ],
    [
      "system:serviceaccount:default:bot",
      {},
      {
        username: "system:serviceaccount:default:bot",
        groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
      },
    ],
    [
      "system:serviceaccount:default:bot",
      { "Impersonate-Group": "g" },
      { username: "system:serviceaccount:default:bot", groups: ["g", "system:authenticated"] },
    ],
    [
      "system:serviceaccount:not-an-account",
      {},
      { username: "system:serviceaccount:not-an-account", groups: ["system:authenticated"] },
    ],
  ])("%s with %j", async (as, headers, user) => {
    const { ask } = await withAuthorization()
    expect((await ask(reviews, { as, headers, body: {} })).body.status.userInfo).toEqual(user)
  })

  test("has no more than their own rights", async () => {
    const { ask } = await withAuthorization()
    const status = async (headers: Record<string, string>) =>
      (await ask("/api/v1/secrets", { as: "bob", headers })).status
    expect([await status({}), await status({ "Impersonate-Group": "system:masters" })]).toEqual([403, 200])
    expect((await ask(reviews, { as: "system:anonymous", body: {} })).body.message).toMatch(
      /^selfsubjectreviews\.authentication\.k8s\.io is forbidden: User "system:anonymous" cannot create/,
    )
  })

  test("must be one: groups alone are an error", async () => {
    const { ask } = await withAuthorization()
    const headers = { "Impersonate-Group": ["g", "h"], "Impersonate-Uid": "u", "Impersonate-Extra-A%2Fb": "v" }
    const { status, text } = await ask("/api/v1/pods", { headers })
    expect([status, text]).toEqual([
      500,
      'Internal Server Error: "/api/v1/pods": requested [{Group  g    } {Group  h    } {UserExtra  v  authentication.k8s.io/v1  a/b} ' +
        "{UID  u  authentication.k8s.io/v1  }] without impersonating a user\n",
    ])
  })
})

describe("Impersonating needs the right to impersonate", () => {
  const users = [{ token: "jane", username: "jane" }]

  test("each of what is claimed", async () => {
    const { ask } = await withAuthorization({ users })
    await grant(ask, "jane", [
      { apiGroups: [""], resources: ["users"], resourceNames: ["bob"], verbs: ["impersonate"] },
      { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: ["bot"], verbs: ["impersonate"] },
      {
        apiGroups: ["authentication.k8s.io"],
        resources: ["userextras/scopes"],
        resourceNames: ["x"],
        verbs: ["impersonate"],
      },
    ])
    const answer = async (as: string, headers: Record<string, string> = {}) => {
      const { status, body } = await ask(reviews, { token: "jane", as, headers, body: {} })
      return status === 201 ? "allowed" : body.message
    }
    const refused = (what: string, resource: string, group = "", place = "at the cluster scope") =>
      `${what} is forbidden: User "jane" cannot impersonate resource "${resource}" in API group "${group}" ${place}`
    expect(await answer("bob")).toBe("allowed")
    expect(await answer("bob", { "Impersonate-Extra-Scopes": "x" })).toBe("allowed")
    expect(await answer("system:serviceaccount:default:bot")).toBe("allowed")
    expect(await answer("eve")).toBe(refused('users "eve"', "users"))
    expect(await answer("bob", { "Impersonate-Group": "g" })).toBe(refused('groups "g"', "groups"))
    expect(await answer("bob", { "Impersonate-Extra-Scopes": "y" })).toBe(
      refused('userextras.authentication.k8s.io "y"', "userextras/scopes", "authentication.k8s.io"),
    )
    expect(await answer("bob", { "Impersonate-Uid": "u" })).toBe(
      refused('uids.authentication.k8s.io "u"', "uids", "authentication.k8s.io"),
    )
    expect(await answer("system:serviceaccount:default:other")).toBe(
      refused('serviceaccounts "other"', "serviceaccounts", "", 'in the namespace "default"'),
    )
  })
})
