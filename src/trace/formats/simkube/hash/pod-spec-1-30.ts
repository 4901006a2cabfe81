/**
 * The fields of PodSpec in Kubernetes 1.30, the version SimKube is built against: those that a round trip through its types keeps.
 *
 * Made from the Go types of k8s.io/api v0.30.14 by scripts/pod-spec-fields; do not edit. For each type its fields, each as
 *
 *     name[!shape][:Type]
 *
 * with `!` and its shape if the field is required, and a type if it contains a struct (`T`), a list (`[]T`) or a map (`{}T`) of structs. A
 * field without a type is kept whole.
 */
export const podSpecTypes: Readonly<Record<string, string>> = {
  AWSElasticBlockStoreVolumeSource: "fsType partition readOnly volumeID!text",
  Affinity: "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity",
  AppArmorProfile: "localhostProfile type!text",
  AzureDiskVolumeSource: "cachingMode diskName!text diskURI!text fsType kind readOnly",
  AzureFileVolumeSource: "readOnly secretName!text shareName!text",
  CSIVolumeSource: "driver!text fsType nodePublishSecretRef:LocalObjectReference readOnly volumeAttributes",
  Capabilities: "add drop",
  CephFSVolumeSource: "monitors!list path readOnly secretFile secretRef:LocalObjectReference user",
  CinderVolumeSource: "fsType readOnly secretRef:LocalObjectReference volumeID!text",
  ClaimSource: "resourceClaimName resourceClaimTemplateName",
  ClusterTrustBundleProjection: "labelSelector:LabelSelector name optional path!text signerName",
  ConfigMapEnvSource: "name optional",
  ConfigMapKeySelector: "key!text name optional",
  ConfigMapProjection: "items:[]KeyToPath name optional",
  ConfigMapVolumeSource: "defaultMode items:[]KeyToPath name optional",
  Container:
    "args command env:[]EnvVar envFrom:[]EnvFromSource image imagePullPolicy lifecycle:Lifecycle livenessProbe:Probe name!text ports:[]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy resources:ResourceRequirements restartPolicy securityContext:SecurityContext startupProbe:Probe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices:[]VolumeDevice volumeMounts:[]VolumeMount workingDir",
  ContainerPort: "containerPort!number hostIP hostPort name protocol",
  ContainerResizePolicy: "resourceName!text restartPolicy!text",
  DownwardAPIProjection: "items:[]DownwardAPIVolumeFile",
  DownwardAPIVolumeFile: "fieldRef:ObjectFieldSelector mode path!text resourceFieldRef:ResourceFieldSelector",
  DownwardAPIVolumeSource: "defaultMode items:[]DownwardAPIVolumeFile",
  EmptyDirVolumeSource: "medium sizeLimit",
  EnvFromSource: "configMapRef:ConfigMapEnvSource prefix secretRef:SecretEnvSource",
  EnvVar: "name!text value valueFrom:EnvVarSource",
  EnvVarSource:
    "configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector",
  EphemeralContainer:
    "args command env:[]EnvVar envFrom:[]EnvFromSource image imagePullPolicy lifecycle:Lifecycle livenessProbe:Probe name!text ports:[]ContainerPort readinessProbe:Probe resizePolicy:[]ContainerResizePolicy resources:ResourceRequirements restartPolicy securityContext:SecurityContext startupProbe:Probe stdin stdinOnce targetContainerName terminationMessagePath terminationMessagePolicy tty volumeDevices:[]VolumeDevice volumeMounts:[]VolumeMount workingDir",
  EphemeralVolumeSource: "volumeClaimTemplate:PersistentVolumeClaimTemplate",
  ExecAction: "command",
  FCVolumeSource: "fsType lun readOnly targetWWNs wwids",
  FlexVolumeSource: "driver!text fsType options readOnly secretRef:LocalObjectReference",
  FlockerVolumeSource: "datasetName datasetUUID",
  GCEPersistentDiskVolumeSource: "fsType partition pdName!text readOnly",
  GRPCAction: "port!number service",
  GitRepoVolumeSource: "directory repository!text revision",
  GlusterfsVolumeSource: "endpoints!text path!text readOnly",
  HTTPGetAction: "host httpHeaders:[]HTTPHeader path port!number scheme",
  HTTPHeader: "name!text value!text",
  HostAlias: "hostnames ip!text",
  HostPathVolumeSource: "path!text type",
  ISCSIVolumeSource:
    "chapAuthDiscovery chapAuthSession fsType initiatorName iqn!text iscsiInterface lun!number portals readOnly secretRef:LocalObjectReference targetPortal!text",
  KeyToPath: "key!text mode path!text",
  LabelSelector: "matchExpressions:[]LabelSelectorRequirement matchLabels",
  LabelSelectorRequirement: "key!text operator!text values",
  Lifecycle: "postStart:LifecycleHandler preStop:LifecycleHandler",
  LifecycleHandler: "exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction tcpSocket:TCPSocketAction",
  LocalObjectReference: "name",
  ManagedFieldsEntry: "apiVersion fieldsType fieldsV1 manager operation subresource time",
  NFSVolumeSource: "path!text readOnly server!text",
  NodeAffinity:
    "preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm requiredDuringSchedulingIgnoredDuringExecution:NodeSelector",
  NodeSelector: "nodeSelectorTerms!list:[]NodeSelectorTerm",
  NodeSelectorRequirement: "key!text operator!text values",
  NodeSelectorTerm: "matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement",
  ObjectFieldSelector: "apiVersion fieldPath!text",
  ObjectMeta:
    "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels managedFields:[]ManagedFieldsEntry name namespace ownerReferences:[]OwnerReference resourceVersion selfLink uid",
  OwnerReference: "apiVersion!text blockOwnerDeletion controller kind!text name!text uid!text",
  PersistentVolumeClaimSpec:
    "accessModes dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference resources:VolumeResourceRequirements selector:LabelSelector storageClassName volumeAttributesClassName volumeMode volumeName",
  PersistentVolumeClaimTemplate: "metadata:ObjectMeta spec!object:PersistentVolumeClaimSpec",
  PersistentVolumeClaimVolumeSource: "claimName!text readOnly",
  PhotonPersistentDiskVolumeSource: "fsType pdID!text",
  PodAffinity:
    "preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm",
  PodAffinityTerm:
    "labelSelector:LabelSelector matchLabelKeys mismatchLabelKeys namespaceSelector:LabelSelector namespaces topologyKey!text",
  PodAntiAffinity:
    "preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm",
  PodDNSConfig: "nameservers options:[]PodDNSConfigOption searches",
  PodDNSConfigOption: "name value",
  PodOS: "name!text",
  PodReadinessGate: "conditionType!text",
  PodResourceClaim: "name!text source:ClaimSource",
  PodSchedulingGate: "name!text",
  PodSecurityContext:
    "appArmorProfile:AppArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile supplementalGroups sysctls:[]Sysctl windowsOptions:WindowsSecurityContextOptions",
  PodSpec:
    "activeDeadlineSeconds affinity:Affinity automountServiceAccountToken containers!list:[]Container dnsConfig:PodDNSConfig dnsPolicy enableServiceLinks ephemeralContainers:[]EphemeralContainer hostAliases:[]HostAlias hostIPC hostNetwork hostPID hostUsers hostname imagePullSecrets:[]LocalObjectReference initContainers:[]Container nodeName nodeSelector os:PodOS overhead preemptionPolicy priority priorityClassName readinessGates:[]PodReadinessGate resourceClaims:[]PodResourceClaim restartPolicy runtimeClassName schedulerName schedulingGates:[]PodSchedulingGate securityContext:PodSecurityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations:[]Toleration topologySpreadConstraints:[]TopologySpreadConstraint volumes:[]Volume",
  PortworxVolumeSource: "fsType readOnly volumeID!text",
  PreferredSchedulingTerm: "preference!object:NodeSelectorTerm weight!number",
  Probe:
    "exec:ExecAction failureThreshold grpc:GRPCAction httpGet:HTTPGetAction initialDelaySeconds periodSeconds successThreshold tcpSocket:TCPSocketAction terminationGracePeriodSeconds timeoutSeconds",
  ProjectedVolumeSource: "defaultMode sources:[]VolumeProjection",
  QuobyteVolumeSource: "group readOnly registry!text tenant user volume!text",
  RBDVolumeSource: "fsType image!text keyring monitors!list pool readOnly secretRef:LocalObjectReference user",
  ResourceClaim: "name!text",
  ResourceFieldSelector: "containerName divisor resource!text",
  ResourceRequirements: "claims:[]ResourceClaim limits requests",
  SELinuxOptions: "level role type user",
  ScaleIOVolumeSource:
    "fsType gateway!text protectionDomain readOnly secretRef!object:LocalObjectReference sslEnabled storageMode storagePool system!text volumeName",
  SeccompProfile: "localhostProfile type!text",
  SecretEnvSource: "name optional",
  SecretKeySelector: "key!text name optional",
  SecretProjection: "items:[]KeyToPath name optional",
  SecretVolumeSource: "defaultMode items:[]KeyToPath optional secretName",
  SecurityContext:
    "allowPrivilegeEscalation appArmorProfile:AppArmorProfile capabilities:Capabilities privileged procMount readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile windowsOptions:WindowsSecurityContextOptions",
  ServiceAccountTokenProjection: "audience expirationSeconds path!text",
  SleepAction: "seconds!number",
  StorageOSVolumeSource: "fsType readOnly secretRef:LocalObjectReference volumeName volumeNamespace",
  Sysctl: "name!text value!text",
  TCPSocketAction: "host port!number",
  Toleration: "effect key operator tolerationSeconds value",
  TopologySpreadConstraint:
    "labelSelector:LabelSelector matchLabelKeys maxSkew!number minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey!text whenUnsatisfiable!text",
  TypedLocalObjectReference: "apiGroup kind!text name!text",
  TypedObjectReference: "apiGroup kind!text name!text namespace",
  Volume:
    "awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource azureFile:AzureFileVolumeSource cephfs:CephFSVolumeSource cinder:CinderVolumeSource configMap:ConfigMapVolumeSource csi:CSIVolumeSource downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource ephemeral:EphemeralVolumeSource fc:FCVolumeSource flexVolume:FlexVolumeSource flocker:FlockerVolumeSource gcePersistentDisk:GCEPersistentDiskVolumeSource gitRepo:GitRepoVolumeSource glusterfs:GlusterfsVolumeSource hostPath:HostPathVolumeSource iscsi:ISCSIVolumeSource name!text nfs:NFSVolumeSource persistentVolumeClaim:PersistentVolumeClaimVolumeSource photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource projected:ProjectedVolumeSource quobyte:QuobyteVolumeSource rbd:RBDVolumeSource scaleIO:ScaleIOVolumeSource secret:SecretVolumeSource storageos:StorageOSVolumeSource vsphereVolume:VsphereVirtualDiskVolumeSource",
  VolumeDevice: "devicePath!text name!text",
  VolumeMount: "mountPath!text mountPropagation name!text readOnly recursiveReadOnly subPath subPathExpr",
  VolumeProjection:
    "clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection downwardAPI:DownwardAPIProjection secret:SecretProjection serviceAccountToken:ServiceAccountTokenProjection",
  VolumeResourceRequirements: "limits requests",
  VsphereVirtualDiskVolumeSource: "fsType storagePolicyID storagePolicyName volumePath!text",
  WeightedPodAffinityTerm: "podAffinityTerm!object:PodAffinityTerm weight!number",
  WindowsSecurityContextOptions: "gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName",
}
