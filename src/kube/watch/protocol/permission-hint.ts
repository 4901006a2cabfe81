/** What to add to RBAC when a list or watch is forbidden, as a rule that can be pasted into a Role. */

/**
 * `path` is the collection's: `/api/v1/pods`, `/apis/apps/v1/namespaces/shop/deployments`. For a path of another shape, as
 * before discovery, it names what discovery needs.
 */
export const permissionHint = (path: string): string => {
  const match = /^(?:\/api|\/apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(path)
  if (match === null) return "bind the user to the ClusterRole system:discovery"
  const [, group = "", namespace, resource] = match
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["get", "list", "watch"]}`
  return namespace === undefined
    ? `add to a ClusterRole of this user: ${rule}`
    : `add to a Role of this user in ${namespace}: ${rule}`
}
