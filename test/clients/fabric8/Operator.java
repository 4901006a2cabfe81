import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.http.HttpClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.jdkhttp.JdkHttpClientFactory;
import io.fabric8.kubernetes.client.vertx5.Vertx5HttpClientFactory;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Once it leads, makes a Deployment for every ConfigMap with the label app, and notes on the ConfigMap how many replicas are ready. Prints
 * what its informer tells. Argument: the HTTP client, vertx or jdk.
 */
public class Operator implements ResourceEventHandler<ConfigMap> {
  private final KubernetesClient client;
  /** Not the informer's thread, which must not wait. */
  private final ExecutorService work = Executors.newSingleThreadExecutor();

  private Operator(KubernetesClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    HttpClient.Factory factory = arguments[0].equals("jdk") ? new JdkHttpClientFactory() : new Vertx5HttpClientFactory();
    KubernetesClient client = new KubernetesClientBuilder().withHttpClientFactory(factory).build();
    CountDownLatch leads = new CountDownLatch(1);
    LeaderElector elector = client.leaderElector().withConfig(new LeaderElectionConfigBuilder()
        .withName("operator")
        .withLeaseDuration(Duration.ofSeconds(15))
        .withRenewDeadline(Duration.ofSeconds(10))
        .withRetryPeriod(Duration.ofMillis(500))
        .withLock(new LeaseLock("default", "fabric8", "only-one"))
        .withLeaderCallbacks(new LeaderCallbacks(leads::countDown, () -> say("no longer leads"), who -> say("leader " + who)))
        .build()).build();
    Future<?> leadership = elector.start();
    leads.await();
    var informer = client.configMaps().inNamespace("default").withLabel("app").inform(new Operator(client));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      informer.close();
      leadership.cancel(true);
      elector.release();
    }));
    say("synced " + informer.hasSynced());
    new CountDownLatch(1).await();
  }

  @Override
  public void onAdd(ConfigMap config) {
    say("added " + described(config));
    work.execute(() -> run(config));
  }

  @Override
  public void onUpdate(ConfigMap before, ConfigMap config) {
    say("updated " + described(before) + " to " + described(config));
    if (!before.getData().equals(config.getData())) work.execute(() -> run(config));
  }

  @Override
  public void onDelete(ConfigMap config, boolean isUnknown) {
    say("deleted " + described(config));
  }

  private void run(ConfigMap config) {
    try {
      String name = config.getMetadata().getName();
      Map<String, String> labels = Map.of("app", name);
      int replicas = Integer.parseInt(config.getData().get("replicas"));
      var deployment = new DeploymentBuilder()
          .withNewMetadata().withName(name).withNamespace("default").endMetadata()
          .withNewSpec().withReplicas(replicas)
          .withNewSelector().withMatchLabels(labels).endSelector()
          .withNewTemplate().withNewMetadata().withLabels(labels).endMetadata()
          .withNewSpec().addNewContainer().withName("app").withImage("app").endContainer().endSpec().endTemplate()
          .endSpec()
          .build();
      client.resource(deployment).fieldManager("fabric8").forceConflicts().serverSideApply();
      client.resource(deployment)
          .waitUntilCondition(
              now -> now != null && now.getStatus() != null && Integer.valueOf(replicas).equals(now.getStatus().getReadyReplicas()),
              30, TimeUnit.SECONDS);
      client.resource(config).edit(now -> {
        now.getMetadata().setAnnotations(Map.of("example.com/ready", String.valueOf(replicas)));
        return now;
      });
    } catch (RuntimeException failure) {
      failure.printStackTrace();
    }
  }

  private static String described(ConfigMap config) {
    return config.getMetadata().getName() + "=" + config.getData().get("replicas");
  }

  private static void say(String text) {
    System.out.println(text);
  }
}
