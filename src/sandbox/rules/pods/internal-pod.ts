/**
 * The internal structs of pod and claim specs of Kubernetes 1.34 (pkg/apis/core/types.go). Volume sources that name a
 * vendor's storage are printed as their JSON.
 */

import { child, fieldsOf } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { type Shape, shapeOf, structOf } from "../values/go-struct.ts"
import { GoStruct } from "../values/go-value.ts"

const item = shapeOf(`Key="" Path="" Mode`)
const keyReference = shapeOf(`Name="" Key="" Optional`)
const reference = shapeOf(`Name="" Optional`)
const fieldReference = shapeOf(`APIVersion="" FieldPath=""`)
const resourceReference = shapeOf(`ContainerName="" Resource="" Divisor~`)
const downwardFile = shapeOf('Path="" FieldRef:Field ResourceFieldRef:Resource Mode', {
  Field: fieldReference,
  Resource: resourceReference,
})
const files = { Item: item, Downward: downwardFile }

const projection = shapeOf(
  "Secret:Secret DownwardAPI:Downward ConfigMap:Secret ServiceAccountToken:Token ClusterTrustBundle PodCertificate",
  {
    Secret: shapeOf(`Name="" Items[]Item Optional`, files),
    Downward: shapeOf("Items[]Downward", files),
    Token: shapeOf(`Audience="" ExpirationSeconds=0 Path=""`),
  },
)

const volume = shapeOf(
  `Name="" HostPath:HostPath EmptyDir:EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret:Secret NFS:NFS ISCSI
  Glusterfs PersistentVolumeClaim:Claim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI:Downward FC AzureFile
  ConfigMap:ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected:Projected PortworxVolume ScaleIO StorageOS
  CSI:CSI Ephemeral Image:Image`,
  {
    HostPath: shapeOf(`Path="" Type`),
    EmptyDir: shapeOf(`Medium="" SizeLimit~`),
    Secret: shapeOf(`SecretName="" Items[]Item DefaultMode Optional`, files),
    ConfigMap: shapeOf(`Name="" Items[]Item DefaultMode Optional`, files),
    NFS: shapeOf(`Server="" Path="" ReadOnly=false`),
    Claim: shapeOf(`ClaimName="" ReadOnly=false`),
    Downward: shapeOf("Items[]Downward DefaultMode", files),
    Projected: shapeOf("Sources[]Source DefaultMode", { Source: projection }),
    CSI: shapeOf(`Driver="" ReadOnly FSType VolumeAttributes NodePublishSecretRef:Reference`, {
      Reference: shapeOf(`Name=""`),
    }),
    Image: shapeOf(`Reference="" PullPolicy=""`),
  },
)

const handlers: Readonly<Record<string, Shape>> = {
  Exec: shapeOf("Command"),
  HTTP: shapeOf(`Path="" Port Host="" Scheme="" HTTPHeaders[]Header`, { Header: shapeOf(`Name="" Value=""`) }),
  TCP: shapeOf(`Port Host=""`),
  GRPC: shapeOf("Port=0 Service"),
  Sleep: shapeOf("Seconds=0"),
}
const probe = shapeOf(
  `Exec:Exec HTTPGet:HTTP TCPSocket:TCP GRPC:GRPC InitialDelaySeconds=0 TimeoutSeconds=0 PeriodSeconds=0
  SuccessThreshold=0 FailureThreshold=0 TerminationGracePeriodSeconds`,
  handlers,
)
const hook = shapeOf("Exec:Exec HTTPGet:HTTP TCPSocket:TCP Sleep:Sleep", handlers)

const profiles: Readonly<Record<string, Shape>> = {
  SELinux: shapeOf(`User="" Role="" Type="" Level=""`),
  Windows: shapeOf("GMSACredentialSpecName GMSACredentialSpec RunAsUserName HostProcess"),
  Profile: shapeOf(`Type="" LocalhostProfile`),
  Capabilities: shapeOf("Add Drop"),
}

const container = shapeOf(
  `Name="" Image="" Command Args WorkingDir="" Ports[]Port EnvFrom[]Source Env[]Variable Resources::Resources
  ResizePolicy[]Resize RestartPolicy RestartPolicyRules VolumeMounts[]Mount VolumeDevices[]Device LivenessProbe:Probe
  ReadinessProbe:Probe StartupProbe:Probe Lifecycle:Lifecycle TerminationMessagePath="" TerminationMessagePolicy=""
  ImagePullPolicy="" SecurityContext:Security Stdin=false StdinOnce=false TTY=false`,
  {
    Port: shapeOf(`Name="" HostPort=0 ContainerPort=0 Protocol="" HostIP=""`),
    Source: shapeOf(`Prefix="" ConfigMapRef:Reference SecretRef:Reference`, { Reference: reference }),
    Variable: shapeOf(`Name="" Value="" ValueFrom:From`, {
      From: shapeOf("FieldRef:Field ResourceFieldRef:Resource ConfigMapKeyRef:Key SecretKeyRef:Key FileKeyRef", {
        Field: fieldReference,
        Resource: resourceReference,
        Key: keyReference,
      }),
    }),
    Resources: shapeOf("Limits% Requests% Claims[]Claim", { Claim: shapeOf(`Name="" Request=""`) }),
    Resize: shapeOf(`ResourceName="" RestartPolicy=""`),
    Mount: shapeOf(`Name="" ReadOnly=false RecursiveReadOnly MountPath="" SubPath="" MountPropagation SubPathExpr=""`),
    Device: shapeOf(`Name="" DevicePath=""`),
    Probe: probe,
    Lifecycle: shapeOf("PostStart:Hook PreStop:Hook StopSignal", { Hook: hook }),
    Security: shapeOf(
      `Capabilities:Capabilities Privileged SELinuxOptions:SELinux WindowsOptions:Windows RunAsUser RunAsGroup
      RunAsNonRoot ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile:Profile AppArmorProfile:Profile`,
      profiles,
    ),
  },
)

const name = shapeOf(`Name=""`)

const podSpec = shapeOf(
  `Volumes[]Volume InitContainers[]Container Containers[]Container EphemeralContainers[]Container RestartPolicy=""
  TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy="" NodeSelector ServiceAccountName=""
  AutomountServiceAccountToken NodeName="" SecurityContext::Security ImagePullSecrets[]Name Hostname="" Subdomain=""
  SetHostnameAsFQDN Affinity SchedulerName="" Tolerations[]Toleration HostAliases[]Alias PriorityClassName="" Priority
  PreemptionPolicy DNSConfig:DNS ReadinessGates[]Gate RuntimeClassName Overhead% EnableServiceLinks
  TopologySpreadConstraints[]Spread OS:Name SchedulingGates[]Name ResourceClaims Resources:Resources HostnameOverride`,
  {
    Volume: volume,
    Container: container,
    Security: shapeOf(
      `HostNetwork=false HostPID=false HostIPC=false ShareProcessNamespace HostUsers SELinuxOptions:SELinux
      WindowsOptions:Windows RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup
      FSGroupChangePolicy Sysctls[]Sysctl SeccompProfile:Profile AppArmorProfile:Profile SELinuxChangePolicy`,
      { ...profiles, Sysctl: shapeOf(`Name="" Value=""`) },
    ),
    Name: name,
    Toleration: shapeOf(`Key="" Operator="" Value="" Effect="" TolerationSeconds`),
    Alias: shapeOf(`IP="" Hostnames`),
    DNS: shapeOf("Nameservers Searches Options[]Option", { Option: shapeOf(`Name="" Value`) }),
    Gate: shapeOf(`ConditionType=""`),
    Spread: shapeOf(
      `MaxSkew=0 TopologyKey="" WhenUnsatisfiable="" LabelSelector MinDomains NodeAffinityPolicy NodeTaintsPolicy
      MatchLabelKeys`,
    ),
    Resources: shapeOf("Limits% Requests% Claims"),
  },
)

/** What the internal security context holds of the spec itself. */
const ofTheHost = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"]

/** A pod's spec. */
export const internalPodSpec = (spec: Fields): GoStruct => {
  const host = Object.fromEntries(ofTheHost.map((key) => [key, spec[key]]))
  return structOf({ ...spec, securityContext: { ...child(spec, "securityContext"), ...host } }, podSpec)
}

/** A pod template: its metadata is embedded, and does have JSON tags. */
export const internalTemplate = (template: Fields | undefined): GoStruct => {
  const metadata = child(template, "metadata") ?? {}
  const present = ["name", "labels", "annotations", "ownerReferences", "finalizers"].flatMap(
    (key): Array<readonly [string, unknown]> => (metadata[key] === undefined ? [] : [[key, metadata[key]]]),
  )
  return new GoStruct([...present, ["Spec", internalPodSpec(child(template, "spec") ?? {})]])
}

const claimSpec = shapeOf(
  `AccessModes Selector Resources::Resources VolumeName="" StorageClassName VolumeMode DataSource:Source
  DataSourceRef:Reference VolumeAttributesClassName`,
  {
    Resources: shapeOf("Limits% Requests%"),
    Source: shapeOf(`APIGroup Kind="" Name=""`),
    Reference: shapeOf(`APIGroup Kind="" Name="" Namespace`),
  },
)

/** The spec of a PersistentVolumeClaim. */
export const internalClaimSpec = (spec: Fields): GoStruct => structOf(fieldsOf(spec), claimSpec)
