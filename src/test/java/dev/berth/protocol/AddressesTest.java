package dev.berth.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressesTest {

  @ParameterizedTest
  @ValueSource(strings = {"n1", "n1~4f3a9c", "a-b~0"})
  void anAddressSaysWhichProcessItIsOn(String node) {
    assertThat(Addresses.nodeOf(new RouterAddress(node, 3).busAddress())).isEqualTo(node);
    assertThat(Addresses.nodeOf(new ReplicaAddress(node, 12, 1, 1).busAddress())).isEqualTo(node);
    assertThat(Addresses.nodeOf(Addresses.routing(node))).isEqualTo(node);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        Addresses.CONTROLLER,
        "",
        "orders",
        "berth.router",
        "berth.router..1",
        "berth.router.n1.1.1",
        "berth.router.n1.x",
        "my.berth.router.n1.1",
        "__vertx.reply.7b"
      })
  void everyOtherSaysNothing(String address) {
    assertThat(Addresses.nodeOf(address)).isNull();
  }
}
