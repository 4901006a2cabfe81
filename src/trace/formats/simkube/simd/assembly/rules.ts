/** The members to remove from an object, by the map that contains them: the same rules as sanitise.ts. */

/** Sorts of maps. All but PLAIN have rules. */
export const PLAIN: u32 = 0
export const ROOT: u32 = 1
export const METADATA: u32 = 2
export const ANNOTATIONS: u32 = 3
/** The spec of a v1.Pod. */
export const POD_SPEC: u32 = 4

/** What to do with a member. A number of a map above means that the member is such a map. */
export const DROP: u32 = 5
/** Copied unless null: if typed metadata is null, another pass decides. */
export const COPY: u32 = 6
/** The member to be hashed. */
export const SPEC: u32 = 7

/** The rule for the member whose key of that length is at `key`, followed by eight readable bytes, in a map of that sort. */
export function ruleOf(map: u32, key: usize, length: usize): u32 {
  if (map == ROOT) return ruleOfRoot(key, length)
  if (map == METADATA) return ruleOfMetadata(key, length)
  if (map == ANNOTATIONS) return isDroppedAnnotation(key, length) ? DROP : PLAIN
  // nodeName
  return length == 8 && load<u64>(key) == 0x656d614e65646f6e ? DROP : PLAIN
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
