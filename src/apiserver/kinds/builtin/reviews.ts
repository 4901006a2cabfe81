/**
 * The kinds of authentication.k8s.io and authorization.k8s.io, as Kubernetes 1.34.4 lists them: questions that are answered
 * when they are created, and never stored.
 */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const authentication = kindsOf("authentication.k8s.io", "v1")
const authorization = kindsOf("authorization.k8s.io", "v1")
const verbs = ["create"]

export const reviewResources: ReadonlyArray<Resource> = [
  authentication.clusterScoped("SelfSubjectReview", "selfsubjectreviews", { verbs }),
  authentication.clusterScoped("TokenReview", "tokenreviews", { verbs }),
  authorization.namespaced("LocalSubjectAccessReview", "localsubjectaccessreviews", { verbs }),
  authorization.clusterScoped("SelfSubjectAccessReview", "selfsubjectaccessreviews", { verbs }),
  authorization.clusterScoped("SelfSubjectRulesReview", "selfsubjectrulesreviews", { verbs }),
  authorization.clusterScoped("SubjectAccessReview", "subjectaccessreviews", { verbs }),
]
