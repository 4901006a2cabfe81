/** Endpoints. */

import { isIP } from "node:net"
import { invalid, invalidEach, notSupported, required } from "../../../apiserver/answers/field-error.ts"
import { labelComplaints, portComplaints } from "../../../kube/names.ts"
import type { DefaultTable } from "../default-table.ts"
import { items, list, number, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import { portProtocols } from "../pods/container-validation.ts"

const endpointPort: DefaultTable = { set: { protocol: "TCP" } }

export const endpointsKind: Kind = {
  defaults: { each: { subsets: { each: { ports: endpointPort } } } },
  check: (object, errors) => {
    for (const [index, subset] of items(object, "subsets").entries()) {
      const place = `subsets[${index}]`
      const addresses = ["addresses", "notReadyAddresses"]
      if (addresses.every((key) => list(subset, key).length === 0))
        errors.push(required(place, "must specify `addresses` or `notReadyAddresses`"))
      for (const key of addresses)
        for (const [position, address] of items(subset, key).entries()) {
          const ip = text(address, "ip")
          if (isIP(ip) === 0)
            for (const hint of [", (e.g. 10.9.8.7 or 2001:db8::ffff)", ""])
              errors.push(invalid(`${place}.${key}[${position}].ip`, ip, `must be a valid IP address${hint}`))
        }
      const ports = items(subset, "ports")
      for (const [position, port] of ports.entries()) {
        const spot = `${place}.ports[${position}]`
        const name = text(port, "name")
        if (name !== "") errors.push(...invalidEach(`${spot}.name`, name, labelComplaints(name)))
        else if (ports.length > 1) errors.push(required(`${spot}.name`))
        const value = number(port, "port") ?? 0
        errors.push(...invalidEach(`${spot}.port`, value, portComplaints(value)))
        const protocol = text(port, "protocol")
        if (!portProtocols.includes(protocol)) errors.push(notSupported(`${spot}.protocol`, protocol, portProtocols))
      }
    }
  },
}
