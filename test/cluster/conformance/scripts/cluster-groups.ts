/** Certificates, admission policies, flow control, runtimes, devices, addresses: what is stored of them, and what is refused. */

import type { JsonObject } from "../../exact-json.ts"
import { get, inCluster, inNamespace, mergePatch, post, remove, type Script } from "../script.ts"
import { named } from "./cluster-kinds.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }

const certificates = "certificates.k8s.io/v1"
const requests = inCluster(certificates, "certificatesigningrequests")
/** Made with openssl for this test; its key is not kept. */
const pem = `-----BEGIN CERTIFICATE REQUEST-----
MIHZMIGBAgEAMB8xDTALBgNVBAMMBGphbmUxDjAMBgNVBAoMBXN0YWZmMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEB1mqjtMv76NfTc3J90vMf8YhLX/6dd86LXj+
4tBWB9eZbFPWNM0LKwo26nvO/0LY3XdZ13wuihSYCZ7ScvMjgaAAMAoGCCqGSM49
BAMCA0cAMEQCIFTYZtFy8gAkh677K+P0KKTUJGE1kDKjbuGPUxKa90SCAiBdBkMM
WAuek09wuPcYfuDMmruUx+oobg72B6pyTd8BRA==
-----END CERTIFICATE REQUEST-----
`
const signing = (name: string, spec: JsonObject) =>
  named(certificates, "CertificateSigningRequest", name, {
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "example.com/mine",
      usages: ["client auth"],
      ...spec,
    },
  })

const certificateRequests: Script = {
  name: "certificate-requests",
  area: "rules",
  steps: [
    post("a request", requests, signing("one", { expirationSeconds: 7200, username: "mallory", groups: ["x"] })),
    mergePatch("nothing of its spec changes", `${requests}/one`, { spec: { signerName: "example.com/other" } }),
    get("as a table", `${requests}?fieldSelector=metadata.name=one`, table),
    post("no signer, no usages", requests, signing("bad", { signerName: "", usages: [] })),
    remove("remove it", `${requests}/one`),
  ],
}

const runtimes = inCluster("node.k8s.io/v1", "runtimeclasses")
const runtime = (name: string, rest: JsonObject) => named("node.k8s.io/v1", "RuntimeClass", name, rest)

const runtimeClasses: Script = {
  name: "runtime-classes",
  area: "rules",
  steps: [
    post("with overhead", runtimes, runtime("kata", { handler: "kata", overhead: { podFixed: { cpu: "0.25" } } })),
    mergePatch("another handler", `${runtimes}/kata`, { handler: "other" }),
    post("a wrong handler", runtimes, runtime("bad", { handler: "A_b" })),
    remove("remove it", `${runtimes}/kata`),
  ],
}

const flow = "flowcontrol.apiserver.k8s.io/v1"
const levels = inCluster(flow, "prioritylevelconfigurations")
const level = (name: string, spec: JsonObject) => named(flow, "PriorityLevelConfiguration", name, { spec })

const flowControl: Script = {
  name: "flow-control",
  area: "rules",
  steps: [
    post(
      "a level that rejects",
      levels,
      level("none", { type: "Limited", limited: { limitResponse: { type: "Reject" } } }),
    ),
    post(
      "a level with a queue",
      levels,
      level("q", { type: "Limited", limited: { limitResponse: { type: "Queue", queuing: {} } } }),
    ),
    ...["none", "q"].map((name) => remove(`remove ${name}`, `${levels}/${name}`)),
  ],
}

const devices = "resource.k8s.io/v1"
const classes = inCluster(devices, "deviceclasses")
const claims = inNamespace(devices, "resourceclaims")
const templates = inNamespace(devices, "resourceclaimtemplates")
const slices = inCluster(devices, "resourceslices")
const one = { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } }
const claim = (name: string, spec: JsonObject) => named(devices, "ResourceClaim", name, { spec })

const deviceClaims: Script = {
  name: "device-claims",
  area: "rules",
  steps: [
    post("a class", classes, named(devices, "DeviceClass", "gpu", { spec: {} })),
    mergePatch("a class changes", `${classes}/gpu`, { spec: { selectors: [{ cel: { expression: "true" } }] } }),
    post("a claim", claims, claim("one", one)),
    post("a claim to nothing", claims, claim("none", {})),
    post(
      "one of several",
      claims,
      claim("some", {
        devices: { requests: [{ name: "a", firstAvailable: [{ name: "b", deviceClassName: "gpu" }] }] },
      }),
    ),
    mergePatch("another spec", `${claims}/one`, { spec: { devices: { requests: null } } }),
    get("claims as a table", claims, table),
    post("a template", templates, named(devices, "ResourceClaimTemplate", "t", { spec: { spec: one } })),
    post(
      "a slice",
      slices,
      named(devices, "ResourceSlice", "s", {
        spec: { driver: "gpu.example.com", allNodes: true, pool: { name: "p", resourceSliceCount: 1 } },
      }),
    ),
    ...["one", "none", "some"].map((name) => remove(`remove ${name}`, `${claims}/${name}`)),
    remove("remove the template", `${templates}/t`),
    remove("remove the slice", `${slices}/s`),
    remove("remove the class", `${classes}/gpu`),
  ],
}

const registration = "admissionregistration.k8s.io/v1"
const policies = inCluster(registration, "validatingadmissionpolicies")
const bindings = inCluster(registration, "validatingadmissionpolicybindings")
const constraints = {
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["nothings"] }],
}
const policy = (name: string, spec: JsonObject) => named(registration, "ValidatingAdmissionPolicy", name, { spec })
const binding = (name: string, spec: JsonObject) =>
  named(registration, "ValidatingAdmissionPolicyBinding", name, { spec })

const admissionPolicies: Script = {
  name: "admission-policies",
  area: "rules",
  steps: [
    post("a policy", policies, policy("p", { matchConstraints: constraints, validations: [{ expression: "true" }] })),
    post("without constraints", policies, policy("bad", { validations: [{ expression: "true" }] })),
    post("a binding", bindings, binding("b", { policyName: "p", validationActions: ["Deny"], matchResources: {} })),
    post("a binding of nothing", bindings, binding("bad", {})),
    remove("remove the binding", `${bindings}/b`),
    remove("remove the policy", `${policies}/p`),
  ],
}

const networking = "networking.k8s.io/v1"
const addresses = inCluster(networking, "ipaddresses")

const addressKinds: Script = {
  name: "addresses",
  area: "rules",
  steps: [
    post(
      "an address",
      addresses,
      named(networking, "IPAddress", "192.168.7.5", {
        spec: { parentRef: { resource: "things", group: "example.com", name: "x" } },
      }),
    ),
    remove("remove the address", `${addresses}/192.168.7.5`),
  ],
}

export const clusterGroups: readonly Script[] = [
  certificateRequests,
  runtimeClasses,
  flowControl,
  deviceClaims,
  admissionPolicies,
  addressKinds,
]
