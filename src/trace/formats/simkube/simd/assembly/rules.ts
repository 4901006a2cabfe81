/** The members to remove from an object, by the map that contains them: the same rules as sanitise.ts and, for pods, generated-fields.ts. */

/** Sorts of maps. All but PLAIN have rules. */
export const PLAIN: u32 = 0
export const ROOT: u32 = 1
export const METADATA: u32 = 2
export const ANNOTATIONS: u32 = 3
/** The spec of a v1.Pod. */
export const POD_SPEC: u32 = 4
/** A container of a v1.Pod. */
export const CONTAINER: u32 = 5
/** A volume of a v1.Pod, or its mount: it goes if its name is that of the volume with the service account's token. */
export const VOLUME: u32 = 6

/** What to do with a member. A number of a map above means that the member is such a map. */
export const DROP: u32 = 7
/** Copied unless null: if typed metadata is null, another pass decides. */
export const COPY: u32 = 8
/** The member to be hashed. */
export const SPEC: u32 = 9
/** A list of containers, of volumes or mounts. */
export const CONTAINERS: u32 = 10
export const VOLUMES: u32 = 11
/** The name of a volume. */
export const VOLUME_NAME: u32 = 12

/** The rule for the member whose key of that length is at `key`, followed by eight readable bytes, in a map of that sort. */
export function ruleOf(map: u32, key: usize, length: usize): u32 {
  if (map == ROOT) return ruleOfRoot(key, length)
  if (map == METADATA) return ruleOfMetadata(key, length)
  if (map == ANNOTATIONS) return isDroppedAnnotation(key, length) ? DROP : PLAIN
  if (map == POD_SPEC) return ruleOfPodSpec(key, length)
  // volumeMo, unts
  if (map == CONTAINER)
    return length == 12 && load<u64>(key) == 0x6f4d656d756c6f76 && load<u32>(key, 8) == 0x73746e75 ? VOLUMES : PLAIN
  // name
  return length == 4 && load<u32>(key) == 0x656d616e ? VOLUME_NAME : PLAIN
}

function ruleOfPodSpec(key: usize, length: usize): u32 {
  const word = load<u64>(key)
  // volumes
  if (length == 7) return (word & 0xffffffffffffff) == 0x73656d756c6f76 ? VOLUMES : PLAIN
  // nodeName, priority
  if (length == 8) return word == 0x656d614e65646f6e || word == 0x797469726f697270 ? DROP : PLAIN
  // containe, rs
  if (length == 10) return word == 0x656e6961746e6f63 && load<u16>(key, 8) == 0x7372 ? CONTAINERS : PLAIN
  // initCont, ainers; serviceA, ccount
  if (length == 14) {
    const rest = load<u32>(key, 8)
    const last = load<u16>(key, 12)
    if (word == 0x746e6f4374696e69) return rest == 0x656e6961 && last == 0x7372 ? CONTAINERS : PLAIN
    return word == 0x4165636976726573 && rest == 0x756f6363 && last == 0x746e ? DROP : PLAIN
  }
  // preempti, onPolicy
  if (length == 16) return word == 0x6974706d65657270 && load<u64>(key, 8) == 0x7963696c6f506e6f ? DROP : PLAIN
  // ephemera, lContain, ers
  return length == 19 && word == 0x6172656d65687065 && load<u64>(key, 8) == 0x6e6961746e6f436c && load<u32>(key, 15) >> 8 == 0x737265
    ? DROP
    : PLAIN
}

// kube-api-access-
const TOKEN_VOLUME = memory.data<u8>([107, 117, 98, 101, 45, 97, 112, 105, 45, 97, 99, 99, 101, 115, 115, 45])

/** Whether the encoded value is the name that admission gives to the volume with a pod's token: `kube-api-access-x7k2p`. */
export function isTokenVolume(value: usize): bool {
  // A string of 21 bytes.
  if (load<u8>(value) != 0xb5 || memory.compare(value + 1, TOKEN_VOLUME, 16) != 0) return false
  for (let at = value + 17; at < value + 22; at++) {
    const byte = <u32>load<u8>(at)
    if (byte - 97 > 25 && byte - 48 > 9) return false
  }
  return true
}

function ruleOfRoot(key: usize, length: usize): u32 {
  const word = load<u64>(key)
  if (length == 4) {
    const four = <u32>word
    // kind, spec
    if (four == 0x646e696b) return DROP
    return four == 0x63657073 ? SPEC : PLAIN
  }
  // status
  if (length == 6) return (word & 0xffffffffffff) == 0x737574617473 ? DROP : PLAIN
  // metadata
  if (length == 8) return word == 0x617461646174656d ? METADATA : PLAIN
  // apiVersi, on
  return length == 10 && word == 0x6973726556697061 && load<u16>(key, 8) == 0x6e6f ? DROP : PLAIN
}

function ruleOfMetadata(key: usize, length: usize): u32 {
  const word = load<u64>(key)
  // name
  if (length == 4) return <u32>word == 0x656d616e ? COPY : DROP
  // labels
  if (length == 6) return (word & 0xffffffffffff) == 0x736c6562616c ? COPY : DROP
  // namespac, e
  if (length == 9) return word == 0x63617073656d616e && load<u8>(key, 8) == 101 ? COPY : DROP
  // annotati, ons
  if (length == 11) {
    if (word != 0x697461746f6e6e61) return DROP
    return (load<u32>(key, 8) & 0xffffff) == 0x736e6f ? ANNOTATIONS : DROP
  }
  // generate, Name
  if (length == 12) return word == 0x65746172656e6567 && load<u32>(key, 8) == 0x656d614e ? COPY : DROP
  return DROP
}

const LAST_APPLIED = memory.data<u8>([
  // kubectl.kubernetes.io/last-applied-configuration
  107, 117, 98, 101, 99, 116, 108, 46, 107, 117, 98, 101, 114, 110, 101, 116, 101, 115, 46, 105, 111, 47, 108, 97, 115, 116,
  45, 97, 112, 112, 108, 105, 101, 100, 45, 99, 111, 110, 102, 105, 103, 117, 114, 97, 116, 105, 111, 110,
])
const REVISION = memory.data<u8>([
  // deployment.kubernetes.io/revision
  100, 101, 112, 108, 111, 121, 109, 101, 110, 116, 46, 107, 117, 98, 101, 114, 110, 101, 116, 101, 115, 46, 105, 111, 47,
  114, 101, 118, 105, 115, 105, 111, 110,
])

function isDroppedAnnotation(key: usize, length: usize): bool {
  if (length == 48) return memory.compare(key, LAST_APPLIED, 48) == 0
  return length == 33 && memory.compare(key, REVISION, 33) == 0
}
