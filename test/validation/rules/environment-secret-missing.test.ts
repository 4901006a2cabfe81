import { describeEnvironmentRule } from "./environment-rule.ts"

describeEnvironmentRule({ code: "E0002", kind: "Secret", keyRef: "secretKeyRef", ref: "secretRef" })
