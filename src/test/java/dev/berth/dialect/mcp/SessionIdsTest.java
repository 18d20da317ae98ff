package dev.berth.dialect.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.dialect.mcp.SessionIds.SessionId;
import org.junit.jupiter.api.Test;

class SessionIdsTest {
  private static final String UPSTREAM = "http://127.0.0.1:8000";

  private final SessionIds ids = new SessionIds(new byte[] {1, 2, 3});

  @Test
  void idNamesItsUpstreamAndTheIdThere() {
    SessionId read = ids.read(ids.wrap(UPSTREAM, "abc-~"));
    assertThat(read).isEqualTo(new SessionId(ids.hash(UPSTREAM), "abc-~"));
    assertThat(ids.hash(UPSTREAM + "#2")).isNotEqualTo(ids.hash(UPSTREAM));
  }

  @Test
  void forgedIdIsUnknown() {
    String made = ids.wrap(UPSTREAM, "abc");
    String other = ids.wrap("http://127.0.0.1:9000", "abc");
    assertThat(ids.read(made + "d")).isNull();
    assertThat(ids.read(other.substring(0, 19) + made.substring(19))).isNull(); // other upstream
    assertThat(ids.read("abc")).isNull();
    assertThat(ids.read("")).isNull();
    for (int i = 0; i < made.length(); i++) {
      char changed = made.charAt(i) == 'A' ? 'B' : 'A';
      assertThat(ids.read(made.substring(0, i) + changed + made.substring(i + 1)))
          .as("character " + i)
          .isNull();
    }
  }

  @Test
  void idsOfANodeAreKnownInItsClusterOnly() {
    SessionIds one = new SessionIds(new byte[] {1});
    SessionIds two = new SessionIds(new byte[] {2});
    assertThat(two.read(one.wrap(UPSTREAM, "a"))).isNull();
    one.useCluster("cluster");
    two.useCluster("cluster");
    assertThat(two.read(one.wrap(UPSTREAM, "a"))).isNotNull();
    two.useCluster("other");
    assertThat(two.read(one.wrap(UPSTREAM, "a"))).isNull();
  }
}
