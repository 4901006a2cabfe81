/** The missing RBAC rule when a list or watch is forbidden, ready to be pasted into a Role. */

/**
 * `path` is the path of a collection: `/api/v1/pods`, `/apis/apps/v1/namespaces/shop/deployments`. For any other path, as before discovery,
 * the hint names the permission that discovery needs.
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
