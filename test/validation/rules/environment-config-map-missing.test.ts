import { describeEnvironmentRule } from "./environment-rule.ts"

describeEnvironmentRule({ code: "E0003", kind: "ConfigMap", keyRef: "configMapKeyRef", ref: "configMapRef" })
