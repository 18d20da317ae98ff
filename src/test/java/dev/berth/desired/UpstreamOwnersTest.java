package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import org.junit.jupiter.api.Test;

/** An upstream is in an instance once, also over several files. */
class UpstreamOwnersTest extends ServeControlRig {

  private static String application(String name, String... urls) {
    StringBuilder all = new StringBuilder();
    for (String url : urls) {
      all.append("{url: '").append(url).append("', max_ongoing_requests: 1}, ");
    }
    return "{name: %s, route_prefix: /%s, import_path: 'berth:proxy', deployments: [{name: d, berth: {upstreams: [%s]}}]}"
        .formatted(name, name, all);
  }

  private ServeConfig file(String... applications) {
    String text = "{applications: [" + String.join(", ", applications) + "]}";
    ServeConfig file = ConfigReader.read("file", folder, text);
    return file.with(InstanceOptions.STATE_DIR, folder.resolve("state"));
  }

  private void start(String... applications) {
    ServeConfig file = file(applications);
    start(file, new JournalLog(file.settings()));
  }

  @Test
  void deployOfUpstreamThatAnotherApplicationHasIsRefused() {
    start(application("a", "http://h:1"));

    assertThat(
            refused(
                CommandRejectionReason.INVALID,
                submit(commands(), "b", application("b", "http://h:2", "http://h:1"))))
        .hasMessageContaining(
            "deployments[0].berth.upstreams[1].url: http://h:1 (expected: unique in the instance;"
                + " application a, deployments[0].berth.upstreams[0] has it already: set id to"
                + " count it apart)");
    deploy("b", application("b", "http://h:2"));
    deploy("a", application("a", "http://h:1", "http://h:3"));
  }

  @Test
  void scaleOfUpstreamsIsRefused() {
    start(application("a", "http://h:1"));

    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().scale("a", "d", 2)))
        .hasMessage(
            "target_num_replicas: of upstreams of a#d (expected: a change of berth.upstreams)");
  }

  @Test
  void upstreamOfApplicationThatTheDeployReplacesIsFree() {
    start(application("a", "http://h:1"));
    String moved = application("a", "http://h:2") + "," + application("b", "http://h:1");

    ok(submit(commands(), "{applications: [" + moved + "]}"));

    assertThat(control.state.find("b")).isNotNull();
  }

  @Test
  void rollbackToUpstreamThatAnotherApplicationHasIsRefused() {
    start();
    deployRan("a", application("a", "http://h:1"));
    deployRan("a", application("a", "http://h:2"));
    deploy("b", application("b", "http://h:1"));

    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().rollback("a", null, false)))
        .hasMessageContaining("http://h:1 (expected: unique in the instance; application b, ");
  }

  @Test
  void startRefusesUpstreamOfStoredApplication() {
    start();
    deploy("a", application("a", "http://h:1"));
    stop();

    start(application("b", "http://h:1"));

    assertThat(control.state.find("b")).isNull();
    assertThat(control.refusedApplications()).containsExactly("b");
  }

  @Test
  void storedUpstreamsServeAsANodeOfACluster() {
    start();
    deploy("a", application("a", "http://h:1"));
    stop();
    String cluster =
        "{berth: {cluster: {name: c, node: n, role: control, control: [n@127.0.0.1:1], bind: 127.0.0.1,"
            + " insecure: true}}}";
    ServeConfig file = ConfigReader.read("file", folder, cluster);
    start(file, new JournalLog(kept()));

    assertThat(control.find("a", 1)).isNotNull();
  }
}
