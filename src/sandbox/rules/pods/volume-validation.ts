/** Volumes of a PodSpec. */

import {
  duplicate,
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { labelComplaints } from "../../../kube/names.ts"
import { child, isAbsent, items, list, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"

/** Sources in the order in which the server checks them; of two, the second is reported as the extra one. */
const sources: ReadonlyArray<readonly [string, (source: Fields, field: string, errors: Errors) => void]> = [
  ["emptyDir", () => undefined],
  ["hostPath", (source, field, errors) => checkHostPath(source, field, errors)],
  ["gitRepo", (source, field, errors) => requireText(source, "repository", field, errors)],
  ["gcePersistentDisk", (source, field, errors) => requireText(source, "pdName", field, errors)],
  ["awsElasticBlockStore", (source, field, errors) => requireText(source, "volumeID", field, errors)],
  [
    "secret",
    (source, field, errors) => {
      requireText(source, "secretName", field, errors)
      checkModeAndItems(source, field, errors)
    },
  ],
  [
    "nfs",
    (source, field, errors) => {
      requireText(source, "server", field, errors)
      requireText(source, "path", field, errors)
    },
  ],
  ["iscsi", () => undefined],
  ["glusterfs", () => undefined],
  ["flocker", () => undefined],
  ["persistentVolumeClaim", (source, field, errors) => requireText(source, "claimName", field, errors)],
  ["rbd", () => undefined],
  ["cinder", () => undefined],
  ["cephfs", () => undefined],
  ["quobyte", () => undefined],
  ["downwardAPI", (source, field, errors) => checkMode(source, field, errors)],
  ["fc", () => undefined],
  ["flexVolume", () => undefined],
  [
    "configMap",
    (source, field, errors) => {
      requireText(source, "name", field, errors)
      checkModeAndItems(source, field, errors)
    },
  ],
  ["azureFile", () => undefined],
  ["vsphereVolume", () => undefined],
  ["photonPersistentDisk", () => undefined],
  ["portworxVolume", () => undefined],
  ["azureDisk", () => undefined],
  ["storageos", () => undefined],
  ["projected", (source, field, errors) => checkMode(source, field, errors)],
  ["scaleIO", () => undefined],
  ["csi", (source, field, errors) => requireText(source, "driver", field, errors)],
  [
    "ephemeral",
    (source, field, errors) => {
      if (child(source, "volumeClaimTemplate") === undefined) errors.push(required(`${field}.volumeClaimTemplate`))
    },
  ],
  ["image", (source, field, errors) => requireText(source, "reference", field, errors)],
]

const requireText = (source: Fields, key: string, field: string, errors: Errors): void => {
  if (text(source, key) === "") errors.push(required(`${field}.${key}`))
}

const checkMode = (source: Fields, field: string, errors: Errors): void => {
  const mode = source.defaultMode
  if (typeof mode === "number" && (mode < 0 || mode > 0o777))
    errors.push(invalid(`${field}.defaultMode`, mode, "must be a number between 0 and 0777 (octal), both inclusive"))
}

const checkModeAndItems = (source: Fields, field: string, errors: Errors): void => {
  checkMode(source, field, errors)
  for (const [index, item] of items(source, "items").entries()) {
    if (text(item, "key") === "") errors.push(required(`${field}.items[${index}].key`))
    if (text(item, "path") === "") errors.push(required(`${field}.items[${index}].path`))
  }
}

const hostPathTypes = [
  "",
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
]

const checkHostPath = (source: Fields, field: string, errors: Errors): void => {
  const path = text(source, "path")
  if (path === "") {
    errors.push(required(`${field}.path`))
    return
  }
  if (path.split("/").includes("..")) errors.push(invalid(`${field}.path`, path, "must not contain '..'"))
  const type = text(source, "type")
  if (!hostPathTypes.includes(type)) {
    const supported = hostPathTypes.filter((name) => name !== "").sort()
    errors.push({
      type: "NotSupported",
      field: `${field}.type`,
      value: type,
      detail: `supported values: ${["", ...supported].map((name) => JSON.stringify(name)).join(", ")}`,
    })
  }
}

const checkSource = (volume: Fields, field: string, errors: Errors): void => {
  let found = 0
  for (const [key, check] of sources) {
    const source = child(volume, key)
    if (source === undefined) continue
    if (found++ > 0) errors.push(forbidden(`${field}.${key}`, "may not specify more than 1 volume type"))
    else check(source, `${field}.${key}`, errors)
  }
  if (found === 0) errors.push(required(field, "must specify a volume type"))
}

/** Returns the names that mounts may use: those of valid volumes. */
export const checkVolumes = (spec: Fields, field: string, errors: Errors): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const [index, volume] of items(spec, "volumes").entries()) {
    const place = `${field}[${index}]`
    const name = text(volume, "name")
    const before = errors.length
    checkSource(volume, place, errors)
    if (name === "") errors.push(required(`${place}.name`))
    else errors.push(...invalidEach(`${place}.name`, name, labelComplaints(name)))
    if (names.has(name)) errors.push(duplicate(`${place}.name`, name))
    if (errors.length === before) names.add(name)
  }
  return names
}

/** Mounts of one container. */
export const checkMounts = (container: Fields, volumes: ReadonlySet<string>, field: string, errors: Errors): void => {
  const paths = new Set<string>()
  for (const [index, mount] of items(container, "volumeMounts").entries()) {
    const place = `${field}[${index}]`
    const name = text(mount, "name")
    const path = text(mount, "mountPath")
    if (name === "") errors.push(required(`${place}.name`))
    if (!volumes.has(name)) errors.push({ type: "NotFound", field: `${place}.name`, value: name, detail: "" })
    if (path === "") errors.push(required(`${place}.mountPath`))
    if (paths.has(path)) errors.push(invalid(`${place}.mountPath`, path, "must be unique"))
    paths.add(path)
    // Without the index, as in the server, by mistake.
    checkDescending(mount, "subPath", field, errors)
    if (!isAbsent(mount.subPathExpr) && text(mount, "subPath") !== "" && text(mount, "subPathExpr") !== "")
      errors.push(
        invalid(`${place}.subPathExpr`, text(mount, "subPathExpr"), "subPathExpr and subPath are mutually exclusive"),
      )
    checkDescending(mount, "subPathExpr", field, errors)
  }
  if (list(container, "volumeDevices").length > 0)
    checkDevices(container, volumes, field.replace(/volumeMounts$/, "volumeDevices"), errors)
}

const checkDescending = (mount: Fields, key: string, field: string, errors: Errors): void => {
  const path = text(mount, key)
  if (path.startsWith("/")) errors.push(invalid(`${field}.${key}`, path, "must be a relative path"))
  if (path.split("/").includes("..")) errors.push(invalid(`${field}.${key}`, path, "must not contain '..'"))
}

const checkDevices = (container: Fields, volumes: ReadonlySet<string>, field: string, errors: Errors): void => {
  for (const [index, device] of items(container, "volumeDevices").entries()) {
    const place = `${field}[${index}]`
    const name = text(device, "name")
    if (name === "") errors.push(required(`${place}.name`))
    else if (!volumes.has(name)) errors.push({ type: "NotFound", field: `${place}.name`, value: name, detail: "" })
    if (text(device, "devicePath") === "") errors.push(required(`${place}.devicePath`))
  }
}
