/** Typical uses of kubectl, in the order in which people run them. */

/** One call of kubectl. */
export interface Command {
  /** Unique. */
  readonly name: string
  /** Without kubeconfig and namespace. */
  readonly words: readonly string[]
  /** Standard input. */
  readonly input?: string
  /** Only the last line counts: those before it depend on timing. */
  readonly lastLine?: boolean
  /** The lines come in random order. */
  readonly sorted?: boolean
}

const deployment = (image: string, more = ""): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: ${image}
        ports:
        - containerPort: 80
${more}`

const configuration = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  key: ${value}\n`

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.kubectl.example.com
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: what a gadget is
            properties:
              size: {type: integer, minimum: 1, description: how large it is}
`
const gadget = (size: string): string =>
  `apiVersion: kubectl.example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: ${size}}\n`

const say = (text: string, rest: Partial<Command> = {}): Command => ({ name: text, words: text.split(" "), ...rest })
const give = (name: string, text: string, input: string, rest: Partial<Command> = {}): Command => ({
  name,
  words: text.split(" "),
  input,
  ...rest,
})

export const commands: readonly Command[] = [
  say("api-versions", { sorted: true }),
  say("api-resources --api-group=apps"),
  say("api-resources --api-group=batch -o wide"),
  say("explain configmap"),
  say("explain deployment.spec.strategy"),
  say("explain pod.spec.containers.nope"),

  give("apply", "apply -f -", deployment("example.com/web:1")),
  give("apply again", "apply -f -", deployment("example.com/web:1")),
  give("diff without a difference", "diff -f -", deployment("example.com/web:1")),
  give("diff", "diff -f -", deployment("example.com/web:2")),
  say("rollout status deployment/web --timeout=60s", { lastLine: true }),
  say("wait --for=condition=Available deployment/web --timeout=60s"),
  say("wait --for=condition=Nope deployment/web --timeout=1s"),
  say("get deployment web"),
  say("get deployment web -o wide"),
  say("get replicasets -o wide"),
  say("get pods --sort-by=.metadata.name"),
  say("get pods -o name", { sorted: true }),
  say("get deployment/web -o jsonpath={.spec.replicas}/{.status.readyReplicas}/{.metadata.generation}"),
  say("get deployments,services,configmaps --show-labels"),
  say("get all -l app=nobody"),
  say("get deployment nope"),
  say("get nopes"),

  say("scale deployment/web --replicas=3"),
  say("scale deployment/web --replicas=2 --current-replicas=9"),
  say("set image deployment/web main=example.com/web:2"),
  say("annotate deployment/web kubernetes.io/change-cause=second"),
  say("rollout status deployment web --timeout=60s", { lastLine: true }),
  say("rollout history deployment/web"),
  say("rollout history deployment/web --revision=2"),
  say("rollout undo deployment/web"),
  say("rollout status deploy/web --timeout=60s", { lastLine: true }),
  say("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}"),
  say("rollout pause deployment/web"),
  say("rollout pause deployment/web --field-manager=x"),
  say("rollout resume deployment/web"),
  say("set env deployment/web A=b"),
  say("set resources deployment/web --limits=cpu=1"),
  say("label deployment web tier=front"),
  say("label deployment web tier=back"),
  say("label deployment web tier=back --overwrite"),
  say("label deployment web tier-"),
  say("annotate deployment web note=hello"),
  { name: "patch", words: ["patch", "deployment", "web", "-p", '{"spec":{"minReadySeconds":1}}'] },
  { name: "patch without change", words: ["patch", "deployment", "web", "-p", '{"spec":{"minReadySeconds":1}}'] },
  {
    name: "patch by merge",
    words: ["patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"minReadySeconds":null}}'],
  },
  {
    name: "patch by JSON",
    words: ["patch", "deployment", "web", "--type=json", "-p", '[{"op":"test","path":"/spec/replicas","value":99}]'],
  },
  {
    name: "patch a subresource",
    words: ["patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":2}}'],
  },
  say("rollout status deployment.apps/web --timeout=60s", { lastLine: true }),
  say("expose deployment web --port=80"),
  say("get service web"),
  say("get service web -o jsonpath={.spec.ports}"),
  say("autoscale deployment web --min=1 --max=4 --cpu=50%"),
  say("get hpa web -o jsonpath={.spec}"),
  say("run solo --image=example.com/solo:1 --labels=app=solo --restart=Never"),
  say("wait --for=jsonpath={.status.phase} pod/solo --timeout=30s"),
  say("delete pod solo --grace-period=0 --force"),

  give("create", "create -f -", configuration("one")),
  give("create again", "create -f -", configuration("one")),
  give("replace", "replace -f -", configuration("two")),
  give("apply over create", "apply -f -", configuration("three")),
  give("apply on the server's side", "apply --server-side -f -", configuration("four")),
  give("conflict", "apply --server-side --field-manager=other -f -", configuration("five")),
  give("force", "apply --server-side --field-manager=other --force-conflicts -f -", configuration("five")),
  give("dry run on the server's side", "apply --dry-run=server -f -", configuration("six")),
  give("dry run on the client's side", "apply --dry-run=client -f -", configuration("six")),
  give("diff on the server's side", "diff --server-side --field-manager=other -f -", configuration("six")),
  say("get configmap settings -o yaml"),
  say("get configmap settings -o json"),
  say("get configmap settings -o yaml --show-managed-fields"),
  say("describe configmap settings"),
  say("create namespace kubectl-literal --dry-run=server"),
  say("create configmap literal --from-literal=a=b"),
  say("create secret generic hidden --from-literal=a=b"),
  say("describe secret hidden"),
  say("get secret hidden"),
  say("create serviceaccount robot"),
  say("create role reader --verb=get --resource=pods"),
  say("create rolebinding readers --role=reader --serviceaccount=default:robot"),
  say("describe rolebinding readers"),
  { name: "create a job", words: ["create", "job", "once", "--image=example.com/once:1"] },
  {
    name: "create a cron job",
    words: ["create", "cronjob", "yearly", "--image=example.com/once:1", "--schedule=0 0 1 1 *"],
  },
  say("get cronjob yearly"),
  say("create quota few --hard=count/nothing.example.com=1"),
  say("auth can-i get pods"),

  give("unknown field", "create -f -", deployment("x", "        nope: true\n").replace("name: web", "name: wrong")),
  give(
    "wrong type",
    "create -f -",
    deployment("x").replace("name: web", "name: wrong").replace("replicas: 2", "replicas: two"),
  ),
  give(
    "unknown field without validation",
    "create --validate=false --dry-run=server -f -",
    `${configuration("x").replace("settings", "loose")}nope: 1\n`,
  ),
  give(
    "a warning",
    "create --validate=warn --dry-run=server -f -",
    `${configuration("x").replace("settings", "loose")}nope: 1\n`,
  ),
  give(
    "invalid",
    "create -f -",
    deployment("x").replace("name: web", "name: wrong").replace("matchLabels: {app: web}", "matchLabels: {app: nope}"),
  ),
  give("unknown kind", "create -f -", "apiVersion: example.com/v1\nkind: Nope\nmetadata: {name: nope}\n"),
  give("no yaml", "create -f -", "a: b: c\n"),

  give("define", "apply -f -", definition),
  say("wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=30s"),
  give("create a gadget", "apply -f -", gadget("3")),
  give("create a bad gadget", "apply -f -", gadget("0")),
  say("get gadgets"),
  say("get gg g -o yaml"),
  say("describe gadget g"),
  say("explain gadget.spec"),
  { name: "patch a gadget", words: ["patch", "gadget", "g", "--type=merge", "-p", '{"spec":{"size":4}}'] },
  say("delete gadget g"),
  say("delete crd gadgets.kubectl.example.com"),

  say("describe service web"),
  say("delete hpa web"),
  say("delete service web"),
  say("delete deployment web"),
  say("wait --for=delete deployment/web --timeout=30s"),
  say("get deployment web --ignore-not-found"),
  say("delete configmap settings literal"),
  say("delete configmap settings"),
  say("delete jobs,cronjobs --all", { sorted: true }),
]
